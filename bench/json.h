/* Reads JSON back: enough for the files that the bench writes. */
#ifndef XGB_JSON_H
#define XGB_JSON_H

enum xgb_json_kind { XGB_NULL, XGB_BOOL, XGB_NUMBER, XGB_STRING, XGB_ARRAY, XGB_OBJECT };

struct xgb_json {
  enum xgb_json_kind kind;
  double number; /* of numbers, and 0 or 1 of true and false */
  char *text;    /* of strings */
  int count;     /* of arrays and objects */
  char **keys;   /* of objects */
  struct xgb_json *items;
};

/* 0, or -1: not readable, or not JSON. */
int xgb_json_read(struct xgb_json *value, const char *path);
void xgb_json_free(struct xgb_json *value);

/* NULL if `object` is no object or has no such key; `object` may be NULL. */
const struct xgb_json *xgb_json_get(const struct xgb_json *object, const char *key);
/* "" and 0 if there is none of that kind. */
const char *xgb_json_text(const struct xgb_json *object, const char *key);
double xgb_json_number(const struct xgb_json *object, const char *key);

#endif
