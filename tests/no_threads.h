/* Processes that may create no thread, or few. */
#ifndef NO_THREADS_H
#define NO_THREADS_H

/* From now on clone() and clone3() fail with EPERM in this process. 0 if the system cannot do that.
 */
int refuse_threads(void);

/* Becomes an ordinary user whose processes and threads may be `most` in all; the superuser is
 * exempt from that limit. 0 if the system cannot do that. */
int allow_processes(int most);

#endif
