#include "json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32 };

static int parse(struct xgb_json *value, const char **at, int depth);

static void skip_space(const char **at)
{
  while (**at == ' ' || **at == '\n' || **at == '\t' || **at == '\r') ++*at;
}

/* Behind the opening quote. Escapes beyond Latin-1 become '?': names here are ASCII. */
static char *parse_string(const char **at)
{
  static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  size_t length = 0;
  char *text = malloc(strlen(*at) + 1);
  if (!text) return NULL;
  for (; **at != '"'; ++*at) {
    if ((unsigned char)**at < 0x20) break;
    if (**at != '\\') {
      text[length++] = **at;
      continue;
    }
    ++*at;
    const char *letter = **at ? strchr(letters, **at) : NULL;
    unsigned code;
    if (letter) {
      text[length++] = meanings[letter - letters];
    } else if (**at == 'u' && sscanf(*at + 1, "%4x", &code) == 1 && strlen(*at) > 4) {
      text[length++] = code > 0 && code < 256 ? (char)code : '?';
      *at += 4;
    } else {
      break;
    }
  }
  if (**at != '"') {
    free(text);
    return NULL;
  }
  ++*at;
  text[length] = 0;
  return text;
}

static int grow(struct xgb_json *value)
{
  if (value->count & (value->count - 1)) return 0; /* room is always a power of two */
  size_t room = value->count ? 2 * (size_t)value->count : 1;
  struct xgb_json *items = realloc(value->items, room * sizeof *items);
  if (items) value->items = items;
  char **keys = realloc(value->keys, room * sizeof *keys);
  if (keys) value->keys = keys;
  return items && keys ? 0 : -1;
}

static int parse_members(struct xgb_json *value, const char **at, char end, int depth)
{
  ++*at;
  skip_space(at);
  if (**at == end) {
    ++*at;
    return 0;
  }
  for (;;) {
    if (grow(value)) return -1;
    char *key = NULL;
    if (value->kind == XGB_OBJECT) {
      skip_space(at);
      if (**at != '"') return -1;
      ++*at;
      if (!(key = parse_string(at))) return -1;
      skip_space(at);
    }
    value->keys[value->count] = key;
    memset(&value->items[value->count], 0, sizeof *value->items);
    struct xgb_json *item = &value->items[value->count++];
    if (value->kind == XGB_OBJECT && *(*at)++ != ':') return -1;
    if (parse(item, at, depth + 1)) return -1;
    skip_space(at);
    char separator = *(*at)++;
    if (separator == end) return 0;
    if (separator != ',') return -1;
  }
}

static int parse_word(struct xgb_json *value, const char **at)
{
  static const struct {
    const char *word;
    enum xgb_json_kind kind;
    double number;
  } words[] = {{"true", XGB_BOOL, 1}, {"false", XGB_BOOL, 0}, {"null", XGB_NULL, 0}};
  for (int i = 0; i < 3; i++) {
    size_t length = strlen(words[i].word);
    if (strncmp(*at, words[i].word, length) != 0) continue;
    value->kind = words[i].kind;
    value->number = words[i].number;
    *at += length;
    return 0;
  }
  return -1;
}

static int parse(struct xgb_json *value, const char **at, int depth)
{
  if (depth > DEEPEST) return -1;
  skip_space(at);
  if (**at == '{' || **at == '[') {
    value->kind = **at == '{' ? XGB_OBJECT : XGB_ARRAY;
    return parse_members(value, at, **at == '{' ? '}' : ']', depth);
  }
  if (**at == '"') {
    ++*at;
    value->kind = XGB_STRING;
    return (value->text = parse_string(at)) ? 0 : -1;
  }
  if (**at == '-' || isdigit((unsigned char)**at)) {
    char *end;
    value->kind = XGB_NUMBER;
    value->number = strtod(*at, &end);
    if (end == *at) return -1;
    *at = end;
    return 0;
  }
  return parse_word(value, at);
}

int xgb_json_read(struct xgb_json *value, const char *path)
{
  memset(value, 0, sizeof *value);
  FILE *file = fopen(path, "r");
  if (!file) return -1;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = size >= 0 ? calloc((size_t)size + 1, 1) : NULL;
  int bad = !text || fread(text, 1, (size_t)size, file) != (size_t)size;
  fclose(file);
  if (!bad) {
    const char *at = text;
    bad = parse(value, &at, 0);
    skip_space(&at);
    if (*at) bad = -1;
  }
  free(text);
  if (bad) xgb_json_free(value);
  return bad ? -1 : 0;
}

void xgb_json_free(struct xgb_json *value)
{
  for (int i = 0; i < value->count; i++) {
    free(value->keys[i]);
    xgb_json_free(&value->items[i]);
  }
  free(value->keys);
  free(value->items);
  free(value->text);
  memset(value, 0, sizeof *value);
}

const struct xgb_json *xgb_json_get(const struct xgb_json *object, const char *key)
{
  if (!object || object->kind != XGB_OBJECT) return NULL;
  for (int i = 0; i < object->count; i++)
    if (strcmp(object->keys[i], key) == 0) return &object->items[i];
  return NULL;
}

const char *xgb_json_text(const struct xgb_json *object, const char *key)
{
  const struct xgb_json *value = xgb_json_get(object, key);
  return value && value->kind == XGB_STRING ? value->text : "";
}

double xgb_json_number(const struct xgb_json *object, const char *key)
{
  const struct xgb_json *value = xgb_json_get(object, key);
  return value && (value->kind == XGB_NUMBER || value->kind == XGB_BOOL) ? value->number : 0;
}
