// skewer._core: libskewer and compiled kernels, for the Python around them.
#include "Kernel.h"
#include "OpenMp.h"
#include "Xla.h"
#include <cstring>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace skewer::python;

namespace {

struct Request {
  std::string path, target, kernel, emit;
  nb::object text; // bytes; None: the file at `path`
  std::vector<std::string> parameters, sizes;
};

/// A text of the compiler's. What it quotes of a file may be no text: such bytes are shown as \xff.
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

/// (status, messages, diagnostics, text, files by name)
nb::tuple ask(const std::string &what, const std::string &path, nb::object text, std::vector<std::string> parameters,
              const std::string &target, const std::string &kernel, std::vector<std::string> sizes,
              const std::string &emit, int64_t head) {
  skewer_request request = skewer_request_init();
  std::string held; // bytes: what is no text the compiler refuses, at its place
  if (!text.is_none())
    held = std::string(nb::cast<nb::bytes>(text).c_str(), nb::len(text));
  std::vector<const char *> parameterTexts, sizeTexts;
  for (const std::string &parameter : parameters)
    parameterTexts.push_back(parameter.c_str());
  for (const std::string &size : sizes)
    sizeTexts.push_back(size.c_str());
  request.path = path.c_str();
  request.text = text.is_none() ? nullptr : held.c_str();
  request.parameters = parameterTexts.data(), request.parameter_count = parameterTexts.size();
  request.sizes = sizeTexts.data(), request.size_count = sizeTexts.size();
  request.target = target.c_str();
  request.kernel = kernel.empty() ? nullptr : kernel.c_str();
  request.emit = emit.c_str();
  request.head = head;
  skewer_answer *answer;
  {
    nb::gil_scoped_release released;
    answer = what == "compile"   ? skewer_compile(&request)
             : what == "plot"    ? skewer_plot(&request)
             : what == "report"  ? skewer_report(&request)
             : what == "explain" ? skewer_explain(&request, 0)
                                 : skewer_explain(&request, 1);
  }
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

} // namespace

NB_MODULE(_core, module) {
  // Operators of PyTorch are never taken back, and keep their kernels to the end of the process.
  nb::set_leak_warnings(false);
  module.doc() = "libskewer and compiled kernels. Use the package skewer.";
  module.def("library_version", &skewer_library_version, "The compiler's version.");
  module.def("library_build", &skewer_library_build, "Differs between any two builds of the compiler.");
  module.def("ask", &ask, nb::arg("what"), nb::arg("path"), nb::arg("text").none(), nb::arg("parameters"),
             nb::arg("target"), nb::arg("kernel"), nb::arg("sizes"), nb::arg("emit"),
             nb::arg("head") = 0, "compile, explain, explain-json, plot or report: (status, messages, diagnostics, text, files).");
  module.def("use_openmp", &openmp::use, nb::arg("path"),
             "Calls with of_framework are computed by the threads of this runtime of OpenMP, which is loaded.");
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
      .def_prop_ro("is_for_gpu", &Kernel::isForGpu, "Whether it was compiled for a GPU.")
      .def_prop_ro("is_for_processor", &Kernel::isForProcessor, "Whether it was compiled for a processor.")
      .def("prepare", &Kernel::prepare, nb::arg("arrays"), nb::arg("threads"),
           "Makes what const operands alone determine; arrays has None for the others.")
      .def_prop_ro("entry_address", &Kernel::entryAddress, "Address of the C entry of docs/abi.md.")
      .def_prop_ro("workspace_address", &Kernel::workspaceAddress, "Address of NAME_workspace_bytes.");
  module.def("register_for_xla", &registerForXla, nb::arg("key"), nb::arg("kernel"),
             "Makes a kernel known to the handler; it has to be kept as long as programs call it.");
}
