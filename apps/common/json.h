/* JSON strings. */
#ifndef APPS_COMMON_JSON_H
#define APPS_COMMON_JSON_H

#include <stdio.h>

/* Writes text as a JSON string literal. */
void write_text(FILE *file, const char *text);

#endif
