// Reads a signature as Python has it, and reports arguments that do not match it.
#include "Signature.h"
#include <nanobind/stl/vector.h>

namespace skewer::python {

nb::object errors(const char *what) { return nb::module_::import_("skewer._errors").attr(what); }

void raise(nb::object exception) {
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

static Element elementNamed(const std::string &type) {
  return type == "f32"    ? Element::F32
         : type == "f16"  ? Element::F16
         : type == "bf16" ? Element::BF16
         : type == "i32"  ? Element::I32
         : type == "i8"   ? Element::I8
                          : Element::F8E4M3;
}

static Extent extentOf(nb::handle extent) {
  Extent made;
  if (nb::isinstance<nb::int_>(extent)) {
    made.fixed = nb::cast<int64_t>(extent);
    made.text = std::to_string(made.fixed);
    return made;
  }
  made.text = nb::cast<std::string>(extent[1]);
  if (nb::isinstance<nb::int_>(extent[0]))
    made.size = nb::cast<int>(extent[0]);
  else
    made.expression = extent[0], made.used = nb::cast<std::vector<int>>(extent[2]);
  return made;
}

static Argument argumentOf(nb::handle tuple) {
  Argument argument;
  argument.name = nb::cast<std::string>(tuple[0]);
  argument.element = elementNamed(nb::cast<std::string>(tuple[1]));
  argument.typeName = nameOf(argument.element);
  for (nb::handle extent : nb::list(tuple[2]))
    argument.shape.push_back(extentOf(extent));
  if (nb::object range = tuple[3]; !range.is_none())
    argument.range.emplace(extentOf(range[0]), extentOf(range[1]));
  return argument;
}

Signature::Signature(std::string name, nb::list inputList, nb::list resultList, nb::list sizeList)
    : name(std::move(name)) {
  for (nb::handle size : sizeList)
    sizes.emplace_back(nb::cast<std::string>(size[0]), nb::cast<int64_t>(size[1]));
  for (nb::handle input : inputList)
    inputs.push_back(argumentOf(input));
  for (nb::handle result : resultList)
    results.push_back(argumentOf(result));
}

std::string Signature::titleOf(size_t result) const {
  return results.size() == 1 ? "out" : "out[" + std::to_string(result) + "]";
}

void Signature::refuse(const std::string &argument, nb::object dimension, const std::string &expected,
                       const std::string &found) const {
  raise(errors("ArgumentError")(name, argument, dimension, expected, found));
}

int64_t Extent::at(const std::vector<int64_t> &sizes) const {
  if (size >= 0)
    return sizes[size];
  if (!expression.is_valid())
    return fixed;
  nb::list values;
  for (int64_t value : sizes)
    values.append(value);
  return nb::cast<int64_t>(expression(*values));
}

} // namespace skewer::python
