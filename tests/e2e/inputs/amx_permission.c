/* A kernel for a processor with AMX, in a process that the system or the program itself keeps from its tiles:
   `amx_permission free|filter|kill|stack|refuse|later`. Prints the code that runs; its results are right. */
#define _GNU_SOURCE
#include "half_call.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern int skewer_refuse_amx __attribute__((weak));

/* Makes the system answer the request for tiles with `answer`. */
static int filter(uint32_t answer) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x1023, 0, 1), /* ARCH_REQ_XCOMP_PERM */
      BPF_STMT(BPF_RET | BPF_K, answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof program / sizeof *program, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static int smallStack(void) {
  static char memory[8192];
  stack_t stack = {0};
  stack.ss_sp = memory, stack.ss_size = sizeof memory;
  return sigaltstack(&stack, NULL);
}

/* All values are 1, and so is every result. */
static int isOne(int number, skewer_half element) {
  (void)number;
  return element == 0x3f80;
}

static int isRight(void) { return isCallRight(isOne); }

static pthread_barrier_t barrier;
static void *inOldThread(void *right) {
  pthread_barrier_wait(&barrier); /* until after the first call */
  *(int *)right = isRight();
  return NULL;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "free";
  pthread_t old;
  int e, status = 1, right = 0, isTiles;
  for (e = 0; e < count; ++e)
    q[e] = (skewer_half)(0x3f80 + e % 50), k[e] = (skewer_half)(0x3f00 + e % 70), v[e] = 0x3f80;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&old, NULL, inOldThread, &right);
  if (strcmp(how, "filter") == 0 && filter(SECCOMP_RET_ERRNO | EPERM))
    return 10;
  if (strcmp(how, "kill") == 0) {
    if (filter(SECCOMP_RET_KILL_PROCESS))
      return 11;
    skewer_refuse_amx = 1; /* nothing is asked, so nobody is killed */
  }
  if (strcmp(how, "stack") == 0 && smallStack())
    return 12;
  if (strcmp(how, "refuse") == 0)
    skewer_refuse_amx = 1;
  if (!isRight())
    return 1;
  isTiles = strstr(half_code(), "/amx") != NULL;
  pthread_barrier_wait(&barrier);
  pthread_join(old, NULL);
  if (!right)
    return 2;
  if (fork() == 0)
    _exit(!isRight());
  if (wait(&status) < 0 || status != 0)
    return 3;
  /* Once tiles are permitted, the system takes no such stack any more. */
  if (strcmp(how, "later") == 0 && (smallStack() != 0) != isTiles)
    return 4;
  skewer_refuse_amx = !skewer_refuse_amx; /* the choice stays */
  if (!isRight() || (strstr(half_code(), "/amx") != NULL) != isTiles)
    return 5;
  printf("%s\n", half_code());
  return 0;
}
