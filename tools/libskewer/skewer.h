/* libskewer: the compiler as a C library. docs/library.md shows how programs use it.
 *
 * Plain C99. Handles are opaque. Every call returns a skewer_answer with a status, diagnostics with their lines and
 * columns, files and text. The library writes nothing to the program's streams and keeps no state between calls, and
 * several threads may call it at once. Bad input gives a status and never ends the process.
 *
 * Programs can include headers of compiled kernels (skewer_status, skewer_exec, …) together with this one. */
#ifndef SKEWER_LIBRARY_H
#define SKEWER_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(SKEWER_BUILDS_LIBRARY)
#define SKEWER_LIBRARY_API __attribute__((visibility("default")))
#else
#define SKEWER_LIBRARY_API
#endif

/* The version of this interface. It changes with every change of this header that affects a compiled program. */
#define SKEWER_LIBRARY_API_VERSION 1
SKEWER_LIBRARY_API uint32_t skewer_library_api_version(void);
/* Returns the version of the library, such as "0.1.0". */
SKEWER_LIBRARY_API const char *skewer_library_version(void);
/* Returns a text that differs between any two builds of the library. Programs that keep compiled kernels make it a part
 * of the key. */
SKEWER_LIBRARY_API const char *skewer_library_build(void);

/* The status of an answer. */
enum {
  SKEWER_ANSWER_DONE = 0,
  SKEWER_ANSWER_WRONG = 1,      /* the spec, or a file, is wrong */
  SKEWER_ANSWER_USAGE = 2,      /* the request is wrong: a parameter that is no number, an unknown target */
  SKEWER_ANSWER_BAD_REQUEST = 3 /* the request's size or version is not this library's, or a pointer is null */
};

/* A request: a spec, and what to do with it. skewer_request_init() returns an empty one. Strings are read only during
 * the call. */
typedef struct skewer_request {
  uint32_t size, version;
  const char *path;              /* the spec's file; with `text`, its name in messages ("layer.attn" if null) */
  const char *text;              /* the spec itself; null: read it from the file */
  const char *const *parameters; /* "H=16", as in -D H=16 */
  size_t parameter_count;
  const char *const *sizes; /* explain, plot, report: run-time sizes, "batch=4"; others are their bound, or else 1 */
  size_t size_count;
  const char *target; /* "host", or a list: "x86-64-v3,x86-64-v4,sm_80"; null: host */
  const char *kernel; /* explain, plot and report: the kernel; null: all, or the only one */
  const char *emit;   /* compile: additional files, "shared,asm"; null: none */
  int64_t head;       /* plot and report: the head whose scores are drawn, from 0 */
} skewer_request;

static inline skewer_request skewer_request_init(void) {
  skewer_request request = {sizeof(skewer_request), SKEWER_LIBRARY_API_VERSION, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return request;
}

typedef struct skewer_answer skewer_answer;

/* Each of these functions returns an answer, also for a bad request; null only if there is no memory for one. */

/* Compiles each kernel of the spec to the files NAME.o, NAME.h and NAME.json, and those of `emit`, in memory: the bytes
 * that `skewer compile` would write. For GPUs without a ptxas on this machine, these are the files of --ptx-only, whose
 * PTX the GPU's driver compiles. */
SKEWER_LIBRARY_API skewer_answer *skewer_compile(const skewer_request *);
/* Explains how each term was compiled, as text, or as JSON if `json` is not 0. Takes one target. */
SKEWER_LIBRARY_API skewer_answer *skewer_explain(const skewer_request *, int32_t json);
/* Draws how positions are read, scores and tables; the text is SVG. */
SKEWER_LIBRARY_API skewer_answer *skewer_plot(const skewer_request *);
/* Makes one page for a browser from the data of explain and plot; the text is HTML. Takes one target, a processor. */
SKEWER_LIBRARY_API skewer_answer *skewer_report(const skewer_request *);
/* Lists the built-in schemes that users call; if `name` is not null, returns the source of that scheme instead. With
 * `json` not 0, the list is JSON: an array of objects with "name", "signature" and "about". */
SKEWER_LIBRARY_API skewer_answer *skewer_schemes(const char *name, int32_t json);

/* A tensor in the processor's memory: row-major without gaps, with the element type of the spec. */
typedef struct skewer_tensor {
  const void *data;
  const int64_t *shape;
  size_t rank;
} skewer_tensor;

/* Computes a kernel's results with the float64 reference, each as a file NAME.npy of float64 ("out.npy" for a result
 * without a name). `operands` are in the spec's order. `origins` are q0, k0 and head0, or null if the layer is not a
 * part. The reference evaluates every element by the layer's definition, so it suits small layers. */
SKEWER_LIBRARY_API skewer_answer *skewer_reference(const skewer_request *, const skewer_tensor *operands, size_t count,
                                                   const int64_t *origins);
/* Compares a kernel's results with the reference, as `skewer run` does. The text is JSON: an array with an object for
 * each result ("result", "rows", "all_rows", "error", "tolerance", "largest", "mismatches", "where"). `rows` is the
 * number of rows to compare; 0: as many as take about a second. */
SKEWER_LIBRARY_API skewer_answer *skewer_check(const skewer_request *, const skewer_tensor *operands, size_t count,
                                               const int64_t *origins, const skewer_tensor *results,
                                               size_t result_count, int64_t rows);
/* Frees an answer and everything that it has returned: texts, diagnostics, files. The answer may be null. */
SKEWER_LIBRARY_API void skewer_answer_free(skewer_answer *);

SKEWER_LIBRARY_API int32_t skewer_answer_status(const skewer_answer *);
/* Returns the text of explain, plot, report, schemes or check. Empty if the status is not SKEWER_ANSWER_DONE. */
SKEWER_LIBRARY_API const char *skewer_answer_text(const skewer_answer *);
/* Returns all diagnostics as the command line shows them. */
SKEWER_LIBRARY_API const char *skewer_answer_messages(const skewer_answer *);

enum { SKEWER_SEVERITY_ERROR = 0, SKEWER_SEVERITY_WARNING = 1, SKEWER_SEVERITY_NOTE = 2, SKEWER_SEVERITY_REMARK = 3 };

/* An error, a warning or a remark; or a note, which belongs to the diagnostic before it. */
typedef struct skewer_diagnostic {
  const char *file;      /* "" if it is about the request and not about a file */
  uint32_t line, column; /* from 1, the column in bytes; 0: unknown, or about the whole file */
  int32_t severity;
  uint32_t length;    /* the number of characters from there on that it is about; 0: unknown */
  const char *text;   /* without file, line and severity; one line, or several */
  const char *source; /* the line of the spec in a form that a terminal can show, shortened if it is long; or "" */
} skewer_diagnostic;

SKEWER_LIBRARY_API size_t skewer_answer_diagnostic_count(const skewer_answer *);
/* Returns a diagnostic; all fields are 0 and "" if there is none with this number. */
SKEWER_LIBRARY_API skewer_diagnostic skewer_answer_diagnostic(const skewer_answer *, size_t number);

SKEWER_LIBRARY_API size_t skewer_answer_file_count(const skewer_answer *);
/* Returns the name of a file, such as "botnet.o"; null if there is none with this number. */
SKEWER_LIBRARY_API const char *skewer_answer_file_name(const skewer_answer *, size_t number);
/* Returns the content of a file, followed by a zero, and sets `*bytes` to its size without the zero. Null if there is
 * no file with this number. */
SKEWER_LIBRARY_API const void *skewer_answer_file(const skewer_answer *, size_t number, size_t *bytes);

/* A kernel that is loaded into this process, with its C entries (docs/abi.md). */
typedef struct skewer_loaded skewer_loaded;

/* Links all objects of one kernel into this process; a kernel for several processors has several. Entries for GPUs use
 * the launcher in this library. `*loaded` is null unless the answer's status is SKEWER_ANSWER_DONE. */
SKEWER_LIBRARY_API skewer_answer *skewer_load(const char *kernel, const void *const *objects, const size_t *bytes,
                                              size_t count, skewer_loaded **loaded);
/* Unloads a kernel, which may be null. No call of the kernel may be running. */
SKEWER_LIBRARY_API void skewer_unload(skewer_loaded *);
/* Returns the address of an entry of the kernel NAME, by the suffix of its name; null if there is no such entry. The
 * suffix is "" for NAME itself, "_workspace_bytes", "_raw", "_phases", "_items" or "_info"; with several codes also
 * "_code"; with const operands also "_prepared_bytes", "_prepare" and "_prepared"; for GPUs also "_cuda",
 * "_cuda_workspace_bytes" and more (docs/abi.md). */
SKEWER_LIBRARY_API void *skewer_loaded_symbol(const skewer_loaded *, const char *suffix);
/* Makes kernels that are loaded into this process use no AMX if `refused` is not 0, or use it again if it is 0. A kernel
 * that has been called already does not change (docs/abi.md). */
SKEWER_LIBRARY_API void skewer_loaded_refuse_amx(int32_t refused);
/* Returns a sentence about the last failed call of an entry for GPUs in this thread (docs/gpu.md); "" before the first
 * failure. */
SKEWER_LIBRARY_API const char *skewer_loaded_gpu_error(void);

/* Threads for skewer_exec's parallel_for, whose `context` is the team. A team serves one call at a time; the caller is
 * worker 0. A forked process has none of its parent's threads and needs a team of its own. */
typedef struct skewer_team skewer_team;
/* Creates a team with this number of workers, from 1 to 1024; null for other numbers. */
SKEWER_LIBRARY_API skewer_team *skewer_team_create(int32_t workers);
SKEWER_LIBRARY_API void skewer_team_free(skewer_team *);
SKEWER_LIBRARY_API void skewer_team_parallel_for(void *team, int64_t count,
                                                 void (*body)(void *data, int64_t begin, int64_t end, int32_t worker),
                                                 void *data);

#ifdef __cplusplus
}
#endif
#endif
