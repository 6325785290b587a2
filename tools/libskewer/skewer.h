/* libskewer: the compiler inside a program. docs/library.md shows how it is used.
 *
 * Plain C99. Handles are opaque; whatever a call has to say comes back in a skewer_answer: a status, what is wrong with
 * line and column, files, text. The library writes nothing to the program's streams, keeps no state between calls and
 * may be called by several threads at once. Bad input is a status, never the end of the process.
 *
 * Headers of compiled kernels (skewer_status, skewer_exec, …) can be included beside this one. */
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

/* Changes with any change of this header that a compiled program could notice. */
#define SKEWER_LIBRARY_API_VERSION 1
SKEWER_LIBRARY_API uint32_t skewer_library_api_version(void);
/* "0.1.0". */
SKEWER_LIBRARY_API const char *skewer_library_version(void);
/* Differs between any two builds of the library: part of the key of whoever keeps compiled kernels. */
SKEWER_LIBRARY_API const char *skewer_library_build(void);

/* What a call came to. */
enum {
  SKEWER_ANSWER_DONE = 0,
  SKEWER_ANSWER_WRONG = 1,      /* the spec, or a file, is wrong */
  SKEWER_ANSWER_USAGE = 2,      /* the request is: a parameter that is no number, an unknown target */
  SKEWER_ANSWER_BAD_REQUEST = 3 /* the request's size or version is not this library's, or a pointer is null */
};

/* What is compiled. Begin with skewer_request_init(); strings are read during the call only. */
typedef struct skewer_request {
  uint32_t size, version;
  const char *path;              /* the spec's file; with `text` the name that messages give it, "layer.attn" if null */
  const char *text;              /* the spec itself; null: what the file says */
  const char *const *parameters; /* "H=16", as in -D H=16 */
  size_t parameter_count;
  const char *const *sizes; /* "batch=4": run-time sizes, for explain, plot and report; 1, or their bound, where not given */
  size_t size_count;
  const char *target; /* "host", or a list: "x86-64-v3,x86-64-v4,sm_80"; null: host */
  const char *kernel; /* explain, plot and report: which one; null: all, or the only one */
  const char *emit;   /* compile: further files, "shared,asm"; null: none */
  int64_t head;       /* plot and report: whose scores are drawn, from 0 */
} skewer_request;

static inline skewer_request skewer_request_init(void) {
  skewer_request request = {sizeof(skewer_request), SKEWER_LIBRARY_API_VERSION, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return request;
}

typedef struct skewer_answer skewer_answer;

/* Each returns an answer, also where the request is bad, and null only where there is no memory for one. */

/* For each kernel of the spec the files NAME.o, NAME.h and NAME.json, and those of `emit`, in memory: the bytes that
 * `skewer compile` would write. Of GPUs, where no ptxas is found, those of --ptx-only: the GPU's driver compiles it. */
SKEWER_LIBRARY_API skewer_answer *skewer_compile(const skewer_request *);
/* What became of each term, as text, or as JSON where `json` is not 0. One target. */
SKEWER_LIBRARY_API skewer_answer *skewer_explain(const skewer_request *, int32_t json);
/* How positions are read, scores and tables, as text in SVG. */
SKEWER_LIBRARY_API skewer_answer *skewer_plot(const skewer_request *);
/* All of that on one page for a browser, as text in HTML. One target, a processor. */
SKEWER_LIBRARY_API skewer_answer *skewer_report(const skewer_request *);
/* Built-in schemes: what users call, or of one `name` its source; as JSON where `json` is not 0: an array of objects with "name",
 * "signature" and "about". */
SKEWER_LIBRARY_API skewer_answer *skewer_schemes(const char *name, int32_t json);

/* A tensor in the processor's memory: row-major without gaps, of the type that the spec says. */
typedef struct skewer_tensor {
  const void *data;
  const int64_t *shape;
  size_t rank;
} skewer_tensor;

/* What a kernel's results are by the float64 reference: for each a file NAME.npy of float64 ("out.npy" where it has no name).
 * `operands` in the spec's order; `origins`: q0, k0 and head0, or null for a layer that is no part. It evaluates every
 * element by the layer's definition: for small layers. */
SKEWER_LIBRARY_API skewer_answer *skewer_reference(const skewer_request *, const skewer_tensor *operands, size_t count,
                                                   const int64_t *origins);
/* How far a kernel's results are from it, as `skewer run` compares them: the text is JSON, an array with an object for each
 * result ("result", "rows", "all_rows", "error", "tolerance", "largest", "mismatches", "where"). `rows` is how many are
 * compared; 0: as many as take no more than a second or so. */
SKEWER_LIBRARY_API skewer_answer *skewer_check(const skewer_request *, const skewer_tensor *operands, size_t count,
                                               const int64_t *origins, const skewer_tensor *results,
                                               size_t result_count, int64_t rows);
/* Null is allowed. Everything that the answer has handed out ends with it. */
SKEWER_LIBRARY_API void skewer_answer_free(skewer_answer *);

SKEWER_LIBRARY_API int32_t skewer_answer_status(const skewer_answer *);
/* What was printed: the text of explain, plot and report. Empty where the status is not SKEWER_ANSWER_DONE. */
SKEWER_LIBRARY_API const char *skewer_answer_text(const skewer_answer *);
/* All diagnostics as the command line shows them. */
SKEWER_LIBRARY_API const char *skewer_answer_messages(const skewer_answer *);

enum { SKEWER_SEVERITY_ERROR = 0, SKEWER_SEVERITY_WARNING = 1, SKEWER_SEVERITY_NOTE = 2, SKEWER_SEVERITY_REMARK = 3 };

/* An error, a warning, a remark; or a note, which belongs to the one before it. */
typedef struct skewer_diagnostic {
  const char *file;      /* "" where it is about the request and not about a file */
  uint32_t line, column; /* from 1, the column in bytes; 0: unknown, the file as a whole */
  int32_t severity;
  uint32_t length;    /* characters from there on that are meant; 0: unknown */
  const char *text;   /* without file, line and severity; one line, or several */
  const char *source; /* the line of the spec as a terminal can show it, of a long one the part around the place; or "" */
} skewer_diagnostic;

SKEWER_LIBRARY_API size_t skewer_answer_diagnostic_count(const skewer_answer *);
/* All zero and "" where there is no such diagnostic. */
SKEWER_LIBRARY_API skewer_diagnostic skewer_answer_diagnostic(const skewer_answer *, size_t number);

SKEWER_LIBRARY_API size_t skewer_answer_file_count(const skewer_answer *);
/* "botnet.o"; null where there is no such file. */
SKEWER_LIBRARY_API const char *skewer_answer_file_name(const skewer_answer *, size_t number);
/* The file's bytes, `*bytes` of them and a zero behind them; null where there is no such file. */
SKEWER_LIBRARY_API const void *skewer_answer_file(const skewer_answer *, size_t number, size_t *bytes);

/* A kernel in this process: its C entries, docs/abi.md. */
typedef struct skewer_loaded skewer_loaded;

/* Links the objects of one kernel (of several processors: all of them; entries for GPUs find the launcher here) into this process. `*loaded` is null unless the
 * answer's status is SKEWER_ANSWER_DONE. */
SKEWER_LIBRARY_API skewer_answer *skewer_load(const char *kernel, const void *const *objects, const size_t *bytes,
                                              size_t count, skewer_loaded **loaded);
/* No call of the kernel may be under way. Null is allowed. */
SKEWER_LIBRARY_API void skewer_unload(skewer_loaded *);
/* The address of an entry of the kernel NAME: "" for NAME itself, "_workspace_bytes", "_raw", "_phases", "_items",
 * "_info", with const operands "_prepared_bytes", "_prepare" and "_prepared", of GPUs "_cuda" and "_cuda_workspace_bytes" (docs/abi.md has all);
 * null where there is none. */
SKEWER_LIBRARY_API void *skewer_loaded_symbol(const skewer_loaded *, const char *suffix);
/* A sentence about the last call in this thread of an entry for GPUs that was no success (docs/gpu.md); "" before. */
SKEWER_LIBRARY_API const char *skewer_loaded_gpu_error(void);

/* Threads for skewer_exec's parallel_for: `context` is the team. One call at a time; the caller is worker 0. A process
 * made by fork has none of its parent's threads and needs a team of its own. */
typedef struct skewer_team skewer_team;
/* Null where `workers` is not 1 … 1024. */
SKEWER_LIBRARY_API skewer_team *skewer_team_create(int32_t workers);
SKEWER_LIBRARY_API void skewer_team_free(skewer_team *);
SKEWER_LIBRARY_API void skewer_team_parallel_for(void *team, int64_t count,
                                                 void (*body)(void *data, int64_t begin, int64_t end, int32_t worker),
                                                 void *data);

#ifdef __cplusplus
}
#endif
#endif
