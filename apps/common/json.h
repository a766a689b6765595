/* Text for the record. */
#ifndef APPS_COMMON_JSON_H
#define APPS_COMMON_JSON_H

/* Prints a JSON string literal. */
void print_text(const char *text);

#endif
