#include "json.h"

void write_text(FILE *file, const char *text)
{
  putc('"', file);
  for (; *text; text++)
    if (*text == '"' || *text == '\\')
      fprintf(file, "\\%c", *text);
    else if ((unsigned char)*text < 0x20)
      fprintf(file, "\\u%04x", *text);
    else
      putc(*text, file);
  putc('"', file);
}
