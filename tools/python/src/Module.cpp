// The Python module skewer._core: exports libskewer and compiled kernels to the Python code of the package, which no
// user calls directly.
#include "Kernel.h"
#include "OpenMp.h"
#include "Xla.h"
#include <cstring>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace skewer::python;

namespace {

/// Returns a text of the compiler as a Python string. A quotation from a file may hold invalid bytes: they become \xff.
nb::object textOf(const char *text) {
  return nb::steal(PyUnicode_DecodeUTF8(text, Py_ssize_t(std::strlen(text)), "backslashreplace"));
}

nb::list diagnosticsOf(const skewer_answer *answer) {
  constexpr const char *kSeverities[] = {"error", "warning", "note", "remark"};
  nb::list all;
  for (size_t k = 0; k < skewer_answer_diagnostic_count(answer); ++k) {
    skewer_diagnostic d = skewer_answer_diagnostic(answer, k);
    all.append(nb::make_tuple(textOf(d.file), d.line, d.column, kSeverities[d.severity], textOf(d.text),
                              textOf(d.source), d.length));
  }
  return all;
}

/// A request to the compiler, with the memory of its strings.
struct Request {
  std::string path, held, target, kernel, emit;
  std::vector<std::string> parameters, sizes;
  std::vector<const char *> parameterTexts, sizeTexts;
  skewer_request request = skewer_request_init();

  Request(const std::string &path, nb::object text, std::vector<std::string> parameters, const std::string &target,
          const std::string &kernel, std::vector<std::string> sizes, const std::string &emit, int64_t head)
      : path(path), target(target), kernel(kernel), emit(emit), parameters(std::move(parameters)),
        sizes(std::move(sizes)) {
    if (!text.is_none()) { // bytes, because the compiler reports invalid characters at their place
      held = std::string(nb::cast<nb::bytes>(text).c_str(), nb::len(text));
      request.text = held.c_str();
    }
    for (const std::string &parameter : this->parameters)
      parameterTexts.push_back(parameter.c_str());
    for (const std::string &size : this->sizes)
      sizeTexts.push_back(size.c_str());
    request.path = this->path.c_str();
    request.parameters = parameterTexts.data(), request.parameter_count = parameterTexts.size();
    request.sizes = sizeTexts.data(), request.size_count = sizeTexts.size();
    request.target = this->target.c_str();
    request.kernel = this->kernel.empty() ? nullptr : this->kernel.c_str();
    request.emit = this->emit.c_str();
    request.head = head;
  }
  Request(const Request &) = delete;
};

/// Returns (status, messages, diagnostics, text, files by name) and frees the answer.
nb::tuple resultOf(skewer_answer *answer) {
  if (!answer)
    throw std::bad_alloc();
  nb::dict files;
  for (size_t k = 0; k < skewer_answer_file_count(answer); ++k) {
    size_t bytes;
    const void *data = skewer_answer_file(answer, k, &bytes);
    files[skewer_answer_file_name(answer, k)] = nb::bytes(data, bytes);
  }
  nb::tuple result = nb::make_tuple(skewer_answer_status(answer), textOf(skewer_answer_messages(answer)),
                                    diagnosticsOf(answer), textOf(skewer_answer_text(answer)), files);
  skewer_answer_free(answer);
  return result;
}

nb::tuple ask(const std::string &what, const std::string &path, nb::object text, std::vector<std::string> parameters,
              const std::string &target, const std::string &kernel, std::vector<std::string> sizes,
              const std::string &emit, int64_t head) {
  Request made(path, text, std::move(parameters), target, kernel, std::move(sizes), emit, head);
  const skewer_request *request = &made.request;
  skewer_answer *answer;
  {
    nb::gil_scoped_release released;
    answer = what == "compile"   ? skewer_compile(request)
             : what == "plot"    ? skewer_plot(request)
             : what == "report"  ? skewer_report(request)
             : what == "explain" ? skewer_explain(request, 0)
                                 : skewer_explain(request, 1);
  }
  return resultOf(answer);
}

/// Returns NumPy arrays in the form of the C API; `held` must live as long as the result.
std::vector<skewer_tensor> tensorsOf(nb::list arrays, std::vector<std::unique_ptr<Tensor>> &held) {
  std::vector<skewer_tensor> all;
  for (nb::handle array : arrays) {
    Tensor &tensor = *held.emplace_back(std::make_unique<Tensor>());
    if (!tensor.take(array, /*isWritten=*/false, /*isResolved=*/true) || !tensor.isContiguous())
      throw nb::type_error("expected arrays in row-major memory without gaps");
    all.push_back({tensor.data, tensor.shape.data(), tensor.shape.size()});
  }
  return all;
}

/// Returns the reference's results as files, or, if results are given, their distance from the reference as JSON.
nb::tuple judge(const std::string &path, nb::object text, std::vector<std::string> parameters, const std::string &kernel,
                std::vector<std::string> sizes, nb::list operands, std::vector<int64_t> origins, nb::object results,
                int64_t rows) {
  Request made(path, text, std::move(parameters), "host", kernel, std::move(sizes), "", 0);
  std::vector<std::unique_ptr<Tensor>> held;
  std::vector<skewer_tensor> given = tensorsOf(operands, held), found;
  bool compares = !results.is_none();
  if (compares)
    found = tensorsOf(nb::cast<nb::list>(results), held);
  origins.resize(3);
  skewer_answer *answer;
  {
    nb::gil_scoped_release released;
    answer = compares ? skewer_check(&made.request, given.data(), given.size(), origins.data(), found.data(),
                                     found.size(), rows)
                      : skewer_reference(&made.request, given.data(), given.size(), origins.data());
  }
  return resultOf(answer);
}

nb::tuple schemes(const std::string &name, bool json) {
  return resultOf(skewer_schemes(name.empty() ? nullptr : name.c_str(), json));
}

} // namespace

NB_MODULE(_core, module) {
  // Operators of PyTorch are never unregistered, and keep their kernels until the process ends.
  nb::set_leak_warnings(false);
  module.doc() = "libskewer and compiled kernels. Use the package skewer.";
  module.def("library_version", &skewer_library_version, "The compiler's version.");
  module.def("library_build", &skewer_library_build, "Differs between any two builds of the compiler.");
  module.def("ask", &ask, nb::arg("what"), nb::arg("path"), nb::arg("text").none(), nb::arg("parameters"),
             nb::arg("target"), nb::arg("kernel"), nb::arg("sizes"), nb::arg("emit"),
             nb::arg("head") = 0, "compile, explain, explain-json, plot or report: (status, messages, diagnostics, text, files).");
  module.def("judge", &judge, nb::arg("path"), nb::arg("text").none(), nb::arg("parameters"), nb::arg("kernel"),
             nb::arg("sizes"), nb::arg("operands"), nb::arg("origins"), nb::arg("results").none() = nb::none(),
             nb::arg("rows") = 0, "The float64 reference, or how far results are from it: as ask.");
  module.def("schemes", &schemes, nb::arg("name"), nb::arg("json"), "Built-in schemes: as ask.");
  module.def("use_openmp", &openmp::use, nb::arg("path"),
             "Calls with of_framework are computed by the threads of this runtime of OpenMP, which is loaded.");
  module.def("refuse_amx", &refuseAmx, nb::arg("refused"), "As skewer.refuse_amx.");
  module.def(
      "xla_handler", [] { return nb::capsule(reinterpret_cast<void *>(&callFromXla)); },
      "The handler of calls from XLA, as jax.ffi.register_ffi_target takes it.");
  nb::class_<Prepared>(module, "Prepared", "What const operands alone determine, made once.")
      .def_prop_ro("bytes", [](const Prepared &prepared) { return prepared.bytes; });
  nb::class_<Kernel>(module, "Kernel", "A compiled kernel in this process.")
      .def(nb::init<std::string, nb::list, std::string, nb::list, nb::list, nb::list>(), nb::arg("name"),
           nb::arg("objects"), nb::arg("shared_object"), nb::arg("inputs"), nb::arg("results"), nb::arg("sizes"))
      .def("call", &Kernel::call, nb::arg("arrays"), nb::arg("outputs").none(), nb::arg("threads"),
           nb::arg("allocate").none(), nb::arg("given").none(), nb::arg("q0") = 0, nb::arg("k0") = 0,
           nb::arg("head0") = 0, nb::arg("prepared").none() = nb::none(), nb::arg("of_framework") = false,
           nb::arg("is_resolved") = false, "Checks the arrays, runs the kernel without the interpreter's lock and returns the results.")
      .def("call_on_gpu", &Kernel::callOnGpu, nb::arg("arrays"), nb::arg("outputs").none(), nb::arg("allocate").none(),
           nb::arg("given").none(), nb::arg("q0"), nb::arg("k0"), nb::arg("head0"), nb::arg("stream"),
           nb::arg("new_workspace"), "The same with arrays in a GPU's memory, queued on a stream.")
      .def_prop_ro(
          "is_for_gpu", [](const Kernel &kernel) { return kernel.code.cudaEntry != nullptr; },
          "Whether it was compiled for a GPU.")
      .def_prop_ro(
          "is_for_processor", [](const Kernel &kernel) { return kernel.code.entry != nullptr; },
          "Whether it was compiled for a processor.")
      .def("prepare", &Kernel::prepare, nb::arg("arrays"), nb::arg("threads"), nb::arg("given").none() = nb::none(),
           "Makes what const operands alone determine; arrays has None for the others.")
      .def_prop_ro(
          "code", [](const Kernel &kernel) { return kernel.code.codeName ? kernel.code.codeName() : ""; },
          "The code that calls run, of a kernel with several; otherwise empty.")
      .def_prop_ro(
          "entry_address", [](const Kernel &kernel) { return reinterpret_cast<uintptr_t>(kernel.code.entry); },
          "Address of the C entry of docs/abi.md.")
      .def_prop_ro(
          "workspace_address",
          [](const Kernel &kernel) { return reinterpret_cast<uintptr_t>(kernel.code.workspaceBytes); },
          "Address of NAME_workspace_bytes.");
  module.def("register_for_xla", &registerForXla, nb::arg("key"), nb::arg("kernel"),
             "Makes a kernel known to the handler; it has to be kept as long as programs call it.");
}
