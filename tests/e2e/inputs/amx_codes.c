/* A kernel with two codes, whose tiles are emulated. REFUSE: the program refuses AMX; DENY: the system does, in the
   emulation's function for the request. Prints the code that runs, after all threads and a child have run it. */
#include "half_call.h"
#include "skewer_amx.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static double expected[count];
static int faults;

#ifdef REFUSE
int skewer_refuse_amx = 1;
#endif
#ifdef DENY
static int requests;
int64_t skewer_amx_request(void) {
  ++requests;
  return -28; /* ENOSPC */
}
#endif

static double valueOf(skewer_half bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

static skewer_half noise(void) {
  static uint32_t state = 1;
  float value;
  uint32_t bits;
  state = state * 1664525u + 1013904223u;
  value = (float)(state >> 8) / 8388608.0f - 1.0f;
  memcpy(&bits, &value, sizeof bits);
  return (skewer_half)(bits >> 16);
}

static void attend(void) {
  static double weights[n];
  int h, i, j, d;
  for (h = 0; h < heads; ++h)
    for (i = 0; i < n; ++i) {
      double sum = 0;
      for (j = 0; j < n; ++j) {
        double score = 0;
        for (d = 0; d < dim; ++d)
          score += valueOf(q[(h * n + i) * dim + d]) * valueOf(k[(h * n + j) * dim + d]);
        sum += weights[j] = exp(score / 8);
      }
      for (d = 0; d < dim; ++d) {
        double value = 0;
        for (j = 0; j < n; ++j)
          value += weights[j] / sum * valueOf(v[(h * n + j) * dim + d]);
        expected[(h * n + i) * dim + d] = value;
      }
    }
}

static int isNear(int number, skewer_half element) { return fabs(valueOf(element) - expected[number]) < 0.01; }

static int isRight(void) { return isCallRight(isNear); }

static void *inThread(void *right) {
  *(int *)right = isRight();
  return NULL;
}

static void noteFault(const char *text) {
  (void)text;
  ++faults;
}

int main(void) {
  pthread_t threads[2];
  int right[2], status = 1, e;
  const char *code;
  for (e = 0; e < count; ++e)
    q[e] = noise(), k[e] = noise(), v[e] = noise();
  attend();
  for (e = 0; e < 2; ++e)
    pthread_create(&threads[e], NULL, inThread, &right[e]);
  for (e = 0; e < 2; ++e)
    pthread_join(threads[e], NULL);
  code = half_code();
  if (!right[0] || !right[1] || !isRight())
    return 1;
#ifdef DENY
  if (requests < 1 || requests > 2) /* by each thread whose call was a first one, and never again */
    return 2;
#endif
  if (fork() == 0)
    _exit(strcmp(code, half_code()) != 0 || !isRight());
  if (wait(&status) < 0 || status != 0)
    return 3;
  /* The caller has no tiles after a call: an instruction on one is a fault. */
  skewer_amx_on_fault(noteFault);
  skewer_amx_tilezero(0);
  if (faults != 1)
    return 4;
  printf("%s\n", code);
  return 0;
}
