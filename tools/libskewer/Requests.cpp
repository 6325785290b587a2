// Implements the calls of the C API that take a request: converts it to a request of the compiler, or to the options of
// a command, and the messages to an answer.
#include "codegen/Compiler/Compiler.h"
#include "codegen/GPU/Assemble.h"
#include "codegen/GPU/GpuTarget.h"
#include "tools/libskewer/Answer.h"
#include "tools/libskewer/Judge.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/OptionTexts.h"
#include "llvm/ADT/StringExtras.h"

using namespace skewer;
using namespace skewer::driver;

static_assert(int(kDone) == SKEWER_ANSWER_DONE && int(kWrong) == SKEWER_ANSWER_WRONG &&
                  int(kUsage) == SKEWER_ANSWER_USAGE,
              "the commands' exit codes are the library's statuses");

static int32_t statusOf(CompileStatus status) {
  switch (status) {
  case CompileStatus::Done:
    return SKEWER_ANSWER_DONE;
  case CompileStatus::Wrong:
    return SKEWER_ANSWER_WRONG;
  case CompileStatus::BadRequest:
    return SKEWER_ANSWER_USAGE;
  }
  return SKEWER_ANSWER_WRONG;
}

/// Returns the texts of an array of C strings; nothing after a message if one is null.
static std::optional<std::vector<std::string>> textsOf(const char *const *texts, size_t count, const char *what) {
  std::vector<std::string> all;
  for (size_t k = 0; k < count; ++k) {
    if (!texts || !texts[k]) {
      sayError("the request: " + llvm::Twine(what) + " number " + llvm::Twine(k) + " is a null pointer");
      return std::nullopt;
    }
    all.push_back(texts[k]);
  }
  return all;
}

static int32_t badRequest(const std::string &text) {
  sayError("the request: " + text);
  return SKEWER_ANSWER_BAD_REQUEST;
}

/// A request in the compiler's form, and the fields that skewer_compile does not use.
struct Call {
  CompileRequest compile;
  std::map<std::string, int64_t> sizes;
  std::string kernel;
  int64_t head = 0;
};

/// Reads a request. Returns SKEWER_ANSWER_DONE, or the status that says why this failed.
static int32_t read(const skewer_request *request, Call &call) {
  if (!request)
    return badRequest("a null pointer");
  if (request->size != sizeof(skewer_request) || request->version != SKEWER_LIBRARY_API_VERSION)
    return badRequest("expected " + llvm::utostr(sizeof(skewer_request)) + " bytes of version " +
                      llvm::utostr(SKEWER_LIBRARY_API_VERSION) + ", found " + llvm::utostr(request->size) +
                      " of version " + llvm::utostr(request->version) + "; begin with skewer_request_init()");
  if (!request->path && !request->text)
    return badRequest("neither a path nor a text");
  auto parameters = textsOf(request->parameters, request->parameter_count, "parameter");
  auto sizes = textsOf(request->sizes, request->size_count, "size");
  if (!parameters || !sizes)
    return SKEWER_ANSWER_BAD_REQUEST;
  int exitCode = kUsage;
  CompileRequest &compile = call.compile;
  if (!readParameters(*parameters, compile.parameters, exitCode) ||
      !readNumbers("--size", *sizes, call.sizes, exitCode))
    return exitCode;
  compile.specs = {request->path ? request->path : "layer.attn"};
  if (request->text)
    compile.text = request->text;
  compile.target = request->target ? request->target : "host";
  call.kernel = request->kernel ? request->kernel : "";
  if (request->head < 0)
    return badRequest("expected a head from 0 on, found " + llvm::itostr(request->head));
  call.head = request->head;
  if (!readMachineFiles(compile.target, exitCode))
    return exitCode;
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(request->emit ? request->emit : "").split(names, ',', -1, /*KeepEmpty=*/false);
  std::vector<std::string> kinds(names.begin(), names.end());
  return readKinds(kinds, compile.emit) ? int32_t(SKEWER_ANSWER_DONE) : int32_t(kUsage);
}

/// Fills the options of a command from a request. Returns a status as `read` does.
static int32_t fill(const skewer_request *request, Options &options) {
  Call call;
  if (int32_t status = read(request, call))
    return status;
  options.specs = std::move(call.compile.specs);
  options.text = std::move(call.compile.text);
  options.parameters = std::move(call.compile.parameters);
  options.target = std::move(call.compile.target);
  options.sizes = std::move(call.sizes);
  options.kernel = std::move(call.kernel);
  options.head = call.head;
  return SKEWER_ANSWER_DONE;
}

/// Returns whether a target is a GPU and no ptxas is found to assemble its code.
static bool wantsPtxAlone(const CompileRequest &request) {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(request.target).split(names, ',');
  if (llvm::none_of(names, [](llvm::StringRef name) { return skewer::gpu::isGpuName(name); }))
    return false;
  auto ptxas = skewer::gpu::findPtxas(request.gpu.cudaPath);
  return ptxas ? false : (llvm::consumeError(ptxas.takeError()), true);
}

skewer_answer *skewer_compile(const skewer_request *request) {
  return skewer_answer::of([&](skewer_answer &answer) {
    Call call;
    if (int32_t status = read(request, call))
      return status;
    call.compile.gpu.ptxOnly = wantsPtxAlone(call.compile);
    CompileResult result = compile(call.compile);
    for (language::Diagnostic &diagnostic : result.diagnostics)
      say(std::move(diagnostic));
    for (Artefact &artefact : result.artefacts)
      answer.files.push_back({std::move(artefact.name), std::move(artefact.bytes)});
    return statusOf(result.status);
  });
}

skewer_answer *skewer_explain(const skewer_request *request, int32_t json) {
  return skewer_answer::of([&](skewer_answer &) {
    Options options;
    if (int32_t status = fill(request, options))
      return status;
    options.json = json != 0;
    return int32_t(explain(options));
  });
}

skewer_answer *skewer_plot(const skewer_request *request) {
  return skewer_answer::of([&](skewer_answer &) {
    Options options;
    if (int32_t status = fill(request, options))
      return status;
    return int32_t(plot(options)); // without a file it prints
  });
}

skewer_answer *skewer_report(const skewer_request *request) {
  return skewer_answer::of([&](skewer_answer &) {
    Options options;
    if (int32_t status = fill(request, options))
      return status;
    return int32_t(report(options)); // without a file it prints
  });
}

skewer_answer *skewer_schemes(const char *name, int32_t json) {
  return skewer_answer::of([&](skewer_answer &) {
    Options options;
    options.scheme = name ? name : "";
    options.json = json != 0;
    return int32_t(schemes(options));
  });
}

/// Returns the tensors of an array; nothing after a message if a pointer is null.
static std::optional<std::vector<skewer_tensor>> tensorsOf(const skewer_tensor *tensors, size_t count) {
  std::vector<skewer_tensor> all;
  for (size_t k = 0; k < count; ++k) {
    if (!tensors || !tensors[k].data || (tensors[k].rank && !tensors[k].shape)) {
      sayError("the request: tensor number " + llvm::Twine(k) + " has a null pointer");
      return std::nullopt;
    }
    all.push_back(tensors[k]);
  }
  return all;
}

skewer_answer *skewer_reference(const skewer_request *request, const skewer_tensor *operands, size_t count,
                                const int64_t *origins) {
  return skewer_answer::of([&](skewer_answer &answer) {
    Options options;
    if (int32_t status = fill(request, options))
      return status;
    auto tensors = tensorsOf(operands, count);
    return tensors ? int32_t(reference(options, *tensors, origins, answer.files)) : int32_t(SKEWER_ANSWER_BAD_REQUEST);
  });
}

skewer_answer *skewer_check(const skewer_request *request, const skewer_tensor *operands, size_t count,
                            const int64_t *origins, const skewer_tensor *results, size_t resultCount, int64_t rows) {
  return skewer_answer::of([&](skewer_answer &) {
    Options options;
    if (int32_t status = fill(request, options))
      return status;
    options.rows = rows;
    auto tensors = tensorsOf(operands, count), given = tensorsOf(results, resultCount);
    return tensors && given ? int32_t(check(options, *tensors, origins, *given)) : int32_t(SKEWER_ANSWER_BAD_REQUEST);
  });
}
