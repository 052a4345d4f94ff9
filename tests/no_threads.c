#define _GNU_SOURCE 1 /* setresuid(), RLIMIT_NPROC */
#include "no_threads.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_clone3
#define SYS_clone3 435
#endif

static void *nothing(void *argument)
{
  return argument;
}

int refuse_threads(void)
{
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof code / sizeof *code, code};
  pthread_t t;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 0;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 0;
  return pthread_create(&t, NULL, nothing, NULL) != 0;
}

/* A user id that nothing else runs under, so that the count starts at one. */
int allow_processes(int most)
{
  const struct rlimit limit = {(rlim_t)most, (rlim_t)most};
  const uid_t nobody_else = 61357;
  if (setrlimit(RLIMIT_NPROC, &limit) != 0) return 0;
  return setresuid(nobody_else, nobody_else, nobody_else) == 0;
}
