#include "log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "env.h"

/* XGEMM_LOG_FILE with %i replaced by the process id. */
static void expand_path(const char *pattern, char *path, size_t size)
{
  size_t used = 0;
  for (const char *p = pattern; *p && used + 1 < size; p++) {
    if (p[0] == '%' && p[1] == 'i') {
      int wrote = snprintf(path + used, size - used, "%ld", (long)getpid());
      used += (size_t)wrote < size - used ? (size_t)wrote : size - used - 1;
      p++;
    } else {
      path[used++] = *p;
    }
  }
  path[used] = 0;
}

/* Opened for each line: rare, safe after fork, and %i always names the process that writes. */
static int open_log(void)
{
  const char *pattern = xg_env()->log_file;
  if (!pattern) return STDERR_FILENO;
  char path[4096];
  expand_path(pattern, path, sizeof path);
  return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

void xg_log(int level, const char *format, ...)
{
  if (xg_env()->verbose < level) return;
  char line[12288];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(line, sizeof line - 1, format, args);
  va_end(args);
  if (length < 0) return;
  if ((size_t)length > sizeof line - 2) length = sizeof line - 2;
  line[length++] = '\n';
  int fd = open_log();
  if (fd < 0) return;
  if (write(fd, line, (size_t)length) < 0) { /* nowhere left to say so */
  }
  if (fd != STDERR_FILENO) close(fd);
}
