/* Lists of shapes, from the command line and from files.
 *
 * On the command line (words of `xgemm bench`), each word gives the cross product of its groups:
 *
 *   word   = group { "," group }            m=n=k=64:1024:64      m=1,16,n=4096,k=4096
 *   group  = key { "=" key } "=" values     keys of one group run together
 *   key    = "m" | "n" | "k"                each exactly once in a word
 *   values = range { "," range }
 *   range  = first [ ":" last [ ":" step ] ]    step is a difference, or "*2" a factor; default 1
 *
 * In a file, one shape a line, in the sense of column-major storage; # starts a comment:
 *
 *   m n k transA transB batch name [alpha=X] [beta=X] [layout=row] [type=f64] [a=tiny] [| remark]
 *   options: FLAGS          flags of `xgemm bench` that hold unless the command line says otherwise
 */
#ifndef XGB_SHAPES_H
#define XGB_SHAPES_H

#include <stdio.h>

#include "case.h"

struct xgb_shapes {
  struct xgb_case *list;
  int count, room;
  char options[512]; /* of the files' "options:" lines */
};

/* Both append; 0, or -1 after a message that names the place. What a line may give is
 * set, and no more. */
int xgb_shapes_word(struct xgb_shapes *s, const char *word);
/* `path`, or a name such as "square" that is looked up in bench/shapes and the data directory;
 * "resnet:*_b1" takes the shapes whose names match. */
int xgb_shapes_file(struct xgb_shapes *s, const char *path);
void xgb_shapes_free(struct xgb_shapes *s);

/* Opens `path` as it is, else bench/NAME, else DATADIR/NAME; NULL if there is none. */
FILE *xgb_open_data(const char *name);

#endif
