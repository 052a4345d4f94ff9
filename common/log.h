/* Verbose lines, to stderr or XGEMM_LOG_FILE. Silent unless XGEMM_VERBOSE asks. */
#ifndef XG_LOG_H
#define XG_LOG_H

/* Writes one line (a newline is added) if XGEMM_VERBOSE >= level. One write per line. */
void xg_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
