// Replaces functions that glibc 2.28 does not have by the functions that it has, so that a wheel that was built on a
// newer glibc runs on it. manylinux.py builds this library and makes every library of the wheel look here first.
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

struct stat;

// Before 2.33, these functions were inline, around entries that take the number of a layout; x86-64 has the layout 1
// (mknod 0).
extern int oldStat(int, const char *, struct stat *), oldLstat(int, const char *, struct stat *);
extern int oldFstat(int, int, struct stat *), oldMknod(int, const char *, unsigned, unsigned long *);
extern int oldFstatat(int, int, const char *, struct stat *, int);
__asm__(".symver oldFstatat, __fxstatat@GLIBC_2.4");
__asm__(".symver oldStat, __xstat@GLIBC_2.2.5");
__asm__(".symver oldLstat, __lxstat@GLIBC_2.2.5");
__asm__(".symver oldFstat, __fxstat@GLIBC_2.2.5");
__asm__(".symver oldMknod, __xmknod@GLIBC_2.2.5");
int stat(const char *path, struct stat *to) { return oldStat(1, path, to); }
int stat64(const char *path, struct stat *to) { return oldStat(1, path, to); }
int lstat(const char *path, struct stat *to) { return oldLstat(1, path, to); }
int lstat64(const char *path, struct stat *to) { return oldLstat(1, path, to); }
int fstat(int file, struct stat *to) { return oldFstat(1, file, to); }
int fstat64(int file, struct stat *to) { return oldFstat(1, file, to); }
int fstatat(int folder, const char *path, struct stat *to, int flags) { return oldFstatat(1, folder, path, to, flags); }
int fstatat64(int folder, const char *path, struct stat *to, int flags) { return oldFstatat(1, folder, path, to, flags); }
int mknod(const char *path, unsigned mode, unsigned long device) { return oldMknod(0, path, mode, &device); }

// New in 2.36.
uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number)
    ;
  return number;
}

// New in 2.33: mallinfo with ten wider numbers.
struct narrow {
  int numbers[10];
};
struct wide {
  size_t numbers[10];
};
extern struct narrow mallinfo(void);
struct wide mallinfo2(void) {
  struct narrow found = mallinfo();
  struct wide made;
  for (int k = 0; k < 10; ++k)
    made.numbers[k] = (unsigned)found.numbers[k];
  return made;
}

// New in 2.32. 0 says that there may be other threads, which is always safe.
char __libc_single_threaded = 0;

// New in 2.30: waits until a time of a clock that the caller chooses.
static struct timespec onRealTime(clockid_t clock, const struct timespec *until) {
  struct timespec now, end;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &end);
  int64_t left = (until->tv_sec - now.tv_sec) * 1000000000 + until->tv_nsec - now.tv_nsec + end.tv_nsec;
  end.tv_sec += left / 1000000000, end.tv_nsec = left % 1000000000;
  if (end.tv_nsec < 0)
    --end.tv_sec, end.tv_nsec += 1000000000;
  return end;
}
extern int oldTimedLock(pthread_mutex_t *, const struct timespec *);
__asm__(".symver oldTimedLock, pthread_mutex_timedlock@GLIBC_2.2.5");
int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
  struct timespec end = onRealTime(clock, until);
  return oldTimedLock(mutex, &end);
}
extern int oldTimedWait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
__asm__(".symver oldTimedWait, pthread_cond_timedwait@GLIBC_2.3.2");
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until) {
  struct timespec end = onRealTime(clock, until);
  return oldTimedWait(condition, mutex, &end);
}

// Functions of libstdc++ that GCC 8 (3.4.25) does not have, under their mangled names.
// std::__throw_bad_array_new_length(), new in 3.4.29.
_Noreturn void _ZSt28__throw_bad_array_new_lengthv(void) { abort(); }
// std::stringstream() and std::ostringstream(), new in 3.4.26: call the constructors with a mode, with its default.
enum { kIn = 8, kOut = 16 };
extern void _ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEC1ESt13_Ios_Openmode(void *, int);
extern void _ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEC1ESt13_Ios_Openmode(void *, int);
void _ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEC1Ev(void *stream) {
  _ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEC1ESt13_Ios_Openmode(stream, kIn | kOut);
}
void _ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEC1Ev(void *stream) {
  _ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEC1ESt13_Ios_Openmode(stream, kOut);
}
// std::_Sp_make_shared_tag::_S_eq(type_info), new in 3.4.26: compares the name, which follows the table of functions.
_Bool _ZNSt19_Sp_make_shared_tag5_S_eqERKSt9type_info(const void *type) {
  return !strcmp(((const char *const *)type)[1], "St19_Sp_make_shared_tag");
}
// std::exception_ptr::_M_addref() and _M_release(), visible since 3.4.29: the copy constructor and the destructor do
// the same.
extern void _ZNSt15__exception_ptr13exception_ptrC1ERKS0_(void *, const void *);
extern void _ZNSt15__exception_ptr13exception_ptrD1Ev(void *);
void _ZNSt15__exception_ptr13exception_ptr9_M_addrefEv(void *pointer) {
  void *copy;
  _ZNSt15__exception_ptr13exception_ptrC1ERKS0_(&copy, pointer);
}
void _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(void *pointer) {
  _ZNSt15__exception_ptr13exception_ptrD1Ev(pointer);
}

// Functions of libgcc that GCC 8 does not have: they convert halves to floats, and doubles to halves (to the nearest,
// ties to even).
float __extendhfsf2(_Float16 half) {
  uint16_t bits;
  memcpy(&bits, &half, sizeof bits);
  uint32_t sign = (uint32_t)(bits >> 15) << 31, exponent = bits >> 10 & 31, fraction = bits & 0x3ff, made;
  float value;
  if (exponent == 0) { // fraction / 2^24
    value = (float)fraction * 0x1p-24f;
    memcpy(&made, &value, sizeof made);
  } else if (exponent == 31) {
    made = 0x7f800000 | fraction << 13 | (fraction ? 0x400000 : 0);
  } else {
    made = (exponent + 127 - 15) << 23 | fraction << 13;
  }
  made |= sign;
  memcpy(&value, &made, sizeof value);
  return value;
}
_Float16 __truncdfhf2(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint64_t sign = bits >> 63, size = bits & ~(1ull << 63), made;
  if (size > 0x7ff0000000000000) { // NaN
    made = 0x7e00 | (size >> 42 & 0x1ff);
  } else if (size >= 0x40effe0000000000) { // from 65520 on
    made = 0x7c00;
  } else if (size < 0x3f10000000000000) { // below 2^-14: multiples of 2^-24
    double scaled;
    memcpy(&scaled, &size, sizeof scaled);
    made = (uint64_t)(scaled * 0x1p24 + 0x1p52 - 0x1p52);
  } else {
    made = ((size + (1ull << 41) - 1 + (size >> 42 & 1)) >> 42) - ((1023 - 15) << 10);
  }
  uint16_t half = (uint16_t)(made | sign << 15);
  _Float16 result;
  memcpy(&result, &half, sizeof result);
  return result;
}

// In programs that were linked with 2.34 or newer, the C library runs the constructors; before, each program contained
// a function that ran them. Here are such a function, and the entry that passes it to the older C library.
typedef void (*Constructor)(int, char **, char **);
extern int oldStart(int (*)(int, char **, char **), int, char **, Constructor, void (*)(void), void (*)(void), void *);
__asm__(".symver oldStart, __libc_start_main@GLIBC_2.2.5");

static int findProgram(struct dl_phdr_info *object, size_t size, void *found) {
  (void)size;
  *(struct dl_phdr_info *)found = *object;
  return 1; // stop: the first object is the program
}

static void runConstructors(int argc, char **argv, char **environment) {
  struct dl_phdr_info program = {0};
  dl_iterate_phdr(findProgram, &program);
  for (int k = 0; k < program.dlpi_phnum; ++k) {
    if (program.dlpi_phdr[k].p_type != PT_DYNAMIC)
      continue;
    ElfW(Addr) first = 0, all = 0, count = 0;
    for (ElfW(Dyn) *entry = (ElfW(Dyn) *)(program.dlpi_addr + program.dlpi_phdr[k].p_vaddr); entry->d_tag; ++entry) {
      first = entry->d_tag == DT_INIT ? entry->d_un.d_ptr : first;
      all = entry->d_tag == DT_INIT_ARRAY ? entry->d_un.d_ptr : all;
      count = entry->d_tag == DT_INIT_ARRAYSZ ? entry->d_un.d_val / sizeof(Constructor) : count;
    }
    if (first)
      ((Constructor)(program.dlpi_addr + first))(argc, argv, environment);
    for (ElfW(Addr) n = 0; n < count; ++n)
      ((Constructor *)(program.dlpi_addr + all))[n](argc, argv, environment);
  }
}

int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, Constructor first,
                      void (*last)(void), void (*unload)(void), void *stack) {
  return oldStart(program, argc, argv, first ? first : runConstructors, last, unload, stack);
}
