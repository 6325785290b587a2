/* The launcher: the objects of `skewer compile --target=sm_…` call these functions, which launch their kernels through
   CUDA's driver. The launcher loads the driver at the first call, so that a program links and starts without CUDA and
   without a GPU. Programs include the kernels' own headers and link the C files in this folder. Only these files and
   the objects use the declarations of this header. It compiles as C99 and as C++. */
#ifndef SKEWER_CUDA_H
#define SKEWER_CUDA_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SKEWER_ABI_VERSION /* otherwise a kernel's header has defined it */
#define SKEWER_ABI_VERSION 1

typedef enum skewer_status {
  SKEWER_OK = 0,
  SKEWER_NULL_ARGS = 1,
  SKEWER_BAD_ARGS_SIZE = 2,
  SKEWER_BAD_ARGS_VERSION = 3,
  SKEWER_BAD_SIZE = 4,
  SKEWER_BAD_ORIGIN = 5,
  SKEWER_NULL_TENSOR = 6,
  SKEWER_NULL_EXEC = 8,
  SKEWER_BAD_EXEC_SIZE = 9,
  SKEWER_BAD_EXEC_VERSION = 10,
  SKEWER_NULL_WORKSPACE = 12,
  SKEWER_SMALL_WORKSPACE = 13,
  SKEWER_OVERLAP = 15,
  SKEWER_NULL_PREPARED = 52,
  SKEWER_BAD_ARGS_LAYER = 54,
  SKEWER_CUDA_NO_DRIVER = 64,
  SKEWER_CUDA_NO_GPU = 65,
  SKEWER_CUDA_NO_CONTEXT = 66,
  SKEWER_CUDA_OLD_DRIVER = 67,
  SKEWER_CUDA_NO_CODE = 68,
  SKEWER_CUDA_SHARED_MEMORY = 69,
  SKEWER_CUDA_HOST_POINTER = 70,
  SKEWER_CUDA_MISALIGNED = 71,
  SKEWER_CUDA_GRID = 72,
  SKEWER_CUDA_FAILED = 73,
  SKEWER_CUDA_OTHER_DEVICE = 74
} skewer_status;
#endif

#ifndef SKEWER_CUDA_EXEC
#define SKEWER_CUDA_EXEC
typedef struct skewer_cuda_exec {
  uint32_t size, version;
  void *stream, *context, *workspace;
  uint64_t workspace_bytes;
} skewer_cuda_exec;

/* Returns a sentence about the last call in this thread that failed: what it requested and what it found. If a function
   of the driver failed, the sentence names the function and, by CUDA's name, the error. "" before the first failure.
   The text is valid until the next call. */
const char *skewer_cuda_error(void);
#endif

/* coefficient * (product of the run-time sizes in these 64-bit words of the argument struct) */
typedef struct skewer_cuda_product {
  int64_t coefficient;
  const uint32_t *words;
  uint32_t word_count, reserved;
} skewer_cuda_product;

/* (sum of products) / divisor, rounded down: an extent of run-time length, or its number of blocks */
typedef struct skewer_cuda_factor {
  const skewer_cuda_product *products;
  uint32_t product_count, divisor;
} skewer_cuda_factor;

/* fixed + scaled * (product of the factors) */
typedef struct skewer_cuda_count {
  int64_t fixed, scaled;
  const skewer_cuda_factor *factors;
  uint32_t factor_count, reserved;
} skewer_cuda_count;

/* The kinds of tensors: an operand, a result, an operand that is the same at every call. */
enum { SKEWER_CUDA_READ = 0, SKEWER_CUDA_WRITTEN = 1, SKEWER_CUDA_CONST = 2 };

typedef struct skewer_cuda_tensor {
  const char *name;
  skewer_cuda_count bytes;
  uint32_t word; /* the word of the argument struct that holds its pointer */
  uint32_t kind;
} skewer_cuda_tensor;

/* The range of an operand's elements, if it depends on lengths. */
typedef struct skewer_cuda_range {
  const char *name; /* of the operand */
  skewer_cuda_count low, high;
  uint32_t status;   /* of a call at whose lengths the range is empty: SKEWER_BAD_INDEX + k */
  uint32_t is_const; /* the operand is the same at every call */
} skewer_cuda_range;

/* A tensor, of which a launch makes a tensor map for copies of boxes (cuTensorMapEncodeTiled). Element (column, row,
   place) lies offset + place * place_bytes + row * row_bytes bytes behind a pointer, and `column` elements further. */
typedef struct skewer_cuda_map {
  uint32_t argument; /* the number of the pointer: first the tensors, then the workspace, then prepared memory */
  uint32_t type;     /* of the elements, as CUtensorMapDataType counts: 6 f16, 9 bf16 */
  skewer_cuda_count offset, rows, places;
  int64_t columns, row_bytes, place_bytes;
  uint32_t box_columns, box_rows; /* of a box in shared memory */
  uint32_t swizzle;               /* of its rows, as CUtensorMapSwizzle counts: 1 32 bytes, 2 64 bytes, 3 128 bytes */
  uint32_t reserved;
} skewer_cuda_map;

/* The most maps of a launch. */
enum { SKEWER_CUDA_MOST_MAPS = 8 };

/* The launch of one kernel. All kernels of a program take the same arguments: the tensors, the workspace, prepared
   memory (if the image has some), the sizes and the origins, in this order. */
typedef struct skewer_cuda_launch {
  const char *kernel;
  uint32_t threads, shared_bytes; /* of a block: threads in x; dynamic shared memory */
  skewer_cuda_count blocks;       /* of the grid, in x */
  uint32_t prepares;              /* it reads only const operands and prepared memory, and writes prepared memory */
  uint32_t map_count;             /* 0: there is no kernel that copies boxes */
  /* A kernel that does the same by copies of boxes; behind the arguments of all kernels it takes the maps by value. It
     is launched if all maps can be made. */
  const char *box_kernel;
  const skewer_cuda_map *maps;
} skewer_cuda_launch;

/* The code for one target. */
typedef struct skewer_cuda_image {
  const char *target;  /* "sm_90a" */
  uint32_t capability; /* 90 */
  uint32_t is_exact;   /* it runs only on GPUs of this capability, not on later ones */
  const void *cubin;   /* null: there is none */
  const char *ptx;     /* null: there is none */
  uint32_t ptx_driver; /* first driver that reads the PTX, as cuDriverGetVersion counts: 12000 is CUDA 12.0 */
  uint32_t launch_count;
  const skewer_cuda_launch *launches; /* in the order in which they run */
  skewer_cuda_count workspace;        /* bytes, without prepared memory */
  uint64_t prepared_bytes;            /* a multiple of 256 */
} skewer_cuda_image;

/* A kernel of a spec. `loaded` points to the head of a list, at first null, of the modules that are loaded, each with
   its context. */
typedef struct skewer_cuda_program {
  const char *name;
  uint32_t version;    /* of its argument struct: SKEWER_ABI_VERSION in 8 bits, 24 bits of its layer's hash above */
  uint32_t args_bytes; /* the size of its argument struct */
  const skewer_cuda_tensor *tensors;
  const uint32_t *sizes; /* the words of the run-time sizes */
  const int64_t *bounds; /* the largest value of each */
  const skewer_cuda_image *images;
  uint32_t tensor_count, size_count, image_count;
  uint32_t origin_word;       /* the word of q0; k0 and head0 follow it */
  int64_t last_origins[3];    /* the largest value of each; 0: it must be 0 */
  uint32_t origin_count;      /* the number of origins that the kernels take */
  uint32_t passed_origins[3]; /* these origins: 0 for q0, 1 for k0, 2 for head0 */
  void **loaded;
  const skewer_cuda_range *ranges;
  uint32_t range_count, reserved;
} skewer_cuda_program;

/* Implement NAME_cuda, NAME_cuda_workspace_bytes, NAME_cuda_prepare and NAME_cuda_unload of docs/abi.md; `args` is a
   NAME_args. For programs with const operands, the last three functions implement NAME_cuda_prepared_bytes,
   NAME_cuda_prepare_const and NAME_cuda_prepared. */
skewer_status skewer_cuda_call(const skewer_cuda_program *program, const void *args, const skewer_cuda_exec *exec);
size_t skewer_cuda_workspace(const skewer_cuda_program *program, const void *args);
skewer_status skewer_cuda_load(const skewer_cuda_program *program, const skewer_cuda_exec *exec);
skewer_status skewer_cuda_unload(const skewer_cuda_program *program, const skewer_cuda_exec *exec);
size_t skewer_cuda_prepared_bytes(const skewer_cuda_program *program);
skewer_status skewer_cuda_prepare_const(const skewer_cuda_program *program, const void *args,
                                        const skewer_cuda_exec *exec, void *prepared);
skewer_status skewer_cuda_call_prepared(const skewer_cuda_program *program, const void *args,
                                        const skewer_cuda_exec *exec, const void *prepared);

/* Returns how many kernels of the last successful call in this thread copied boxes of tensors. */
uint32_t skewer_cuda_box_kernels(void);

#ifdef __cplusplus
}
#endif
#endif
