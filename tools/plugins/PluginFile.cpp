// Checks plugins by the symbols of their files, and loads them.
#include "tools/plugins/PluginFile.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "tools/plugins/Version.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace skewer {
namespace {

Error wrong(const std::string &path, const Twine &text) {
  return createStringError(std::make_error_code(std::errc::invalid_argument), "plugin '" + Twine(path) + "': " + text);
}

bool exports(const object::ELFObjectFileBase &file, StringRef name) {
  return any_of(file.getDynamicSymbolIterators(), [&](object::ELFSymbolRef symbol) {
    Expected<StringRef> found = symbol.getName();
    if (!found)
      consumeError(found.takeError());
    return found && *found == name;
  });
}

/// Returns the bytes of a constant that the object exports, up to its 0; nothing if there is none of that name.
Expected<std::optional<std::string>> textOfSymbol(const object::ELFObjectFileBase &file, StringRef name) {
  for (object::ELFSymbolRef symbol : file.getDynamicSymbolIterators()) {
    Expected<StringRef> found = symbol.getName();
    if (!found)
      return found.takeError();
    if (*found != name)
      continue;
    Expected<object::section_iterator> section = symbol.getSection();
    Expected<uint64_t> address = symbol.getAddress();
    if (!section || !address) {
      consumeError(section.takeError());
      consumeError(address.takeError());
      return std::nullopt;
    }
    if (*section == file.section_end())
      continue; // not defined here
    Expected<StringRef> contents = (*section)->getContents();
    if (!contents)
      return contents.takeError();
    uint64_t start = *address - (*section)->getAddress();
    if (start >= contents->size())
      return std::nullopt;
    return contents->drop_front(start).take_until([](char c) { return c == 0; }).take_front(200).str();
  }
  return std::nullopt;
}

std::vector<mlir::DialectPlugin> &loaded() {
  static std::vector<mlir::DialectPlugin> plugins;
  return plugins;
}

} // namespace

Error checkPlugin(const std::string &path, StringRef entry) {
  sys::fs::file_status status;
  if (std::error_code code = sys::fs::status(path, status))
    return wrong(path, "cannot be read: " + code.message());
  if (sys::fs::is_directory(status))
    return wrong(path, "is a folder, expected a shared object");
  auto binary = object::ObjectFile::createObjectFile(path);
  if (!binary)
    return wrong(path, "is no shared object: " + toString(binary.takeError()));
  auto *file = dyn_cast<object::ELFObjectFileBase>(binary->getBinary());
  if (!file)
    return wrong(path, "is no shared object in ELF");
  auto version = textOfSymbol(*file, "skewer_plugin_version");
  if (!version)
    return wrong(path, "is damaged: " + toString(version.takeError()));
  if (!*version)
    return wrong(path, "is no plugin of Skewer: it exports no 'skewer_plugin_version'; its source includes "
                       "tools/plugins/Plugin.h and says SKEWER_PLUGIN(name, function)");
  if (**version != SKEWER_PLUGIN_VERSION)
    return wrong(path, "was built against " + **version +
                           ", this is " SKEWER_PLUGIN_VERSION "; build it again with this version's headers");
  if (!exports(*file, entry))
    return wrong(path, "brings no " + Twine(entry == kPassEntry ? "passes" : "dialect or extension") +
                           ": it exports no '" + entry + "'");
  return Error::success();
}

Error loadDialectPlugin(const std::string &path) {
  if (Error error = checkPlugin(path, kDialectEntry))
    return error;
  auto plugin = mlir::DialectPlugin::load(path);
  if (!plugin)
    return wrong(path, "cannot be loaded: " + toString(plugin.takeError()));
  loaded().push_back(std::move(*plugin));
  return Error::success();
}

Error loadPassPlugin(const std::string &path) {
  if (Error error = checkPlugin(path, kPassEntry))
    return error;
  auto plugin = mlir::PassPlugin::load(path);
  if (!plugin)
    return wrong(path, "cannot be loaded: " + toString(plugin.takeError()));
  plugin->registerPassRegistryCallbacks();
  return Error::success();
}

void registerPlugins(mlir::DialectRegistry &registry) {
  for (const mlir::DialectPlugin &plugin : loaded())
    plugin.registerDialectRegistryCallbacks(registry);
}

std::vector<std::pair<std::string, StringRef>> pluginsOnCommandLine(int argc, char **argv) {
  std::vector<std::pair<std::string, StringRef>> paths;
  for (int k = 1; k < argc; ++k) {
    StringRef word = argv[k];
    if (word == "--")
      break;
    if (!word.consume_front("-"))
      continue;
    word.consume_front("-");
    StringRef entry;
    if (word.consume_front("load-dialect-plugin"))
      entry = kDialectEntry;
    else if (word.consume_front("load-pass-plugin"))
      entry = kPassEntry;
    else
      continue;
    if (word.consume_front("="))
      paths.push_back({word.str(), entry});
    else if (word.empty() && k + 1 < argc)
      paths.push_back({argv[++k], entry});
  }
  return paths;
}

} // namespace skewer
