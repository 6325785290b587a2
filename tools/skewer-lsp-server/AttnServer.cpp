// Handles requests and notifications of the Language Server Protocol 3.17, on LLVM's transport.
#include "tools/skewer-lsp-server/AttnServer.h"
#include "tools/skewer-lsp-server/Document.h"
#include "llvm/Support/LSP/Transport.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace llvm;
using namespace llvm::lsp;

namespace skewer::lsp {
namespace {

class Server {
public:
  explicit Server(MessageHandler &handler)
      : publish(handler.outgoingNotification<PublishDiagnosticsParams>("textDocument/publishDiagnostics")) {
    handler.method("initialize", this, &Server::initialize);
    handler.notification("initialized", this, &Server::initialized);
    handler.method("shutdown", this, &Server::shutdown);
    handler.notification("textDocument/didOpen", this, &Server::opened);
    handler.notification("textDocument/didChange", this, &Server::changed);
    handler.notification("textDocument/didClose", this, &Server::closed);
    handler.method("textDocument/hover", this, &Server::hover);
    handler.method("textDocument/definition", this, &Server::definition);
    handler.method("textDocument/completion", this, &Server::completion);
    handler.method("textDocument/formatting", this, &Server::format);
    handler.method("textDocument/documentSymbol", this, &Server::outline);
  }
  bool wasShutDown = false;

private:
  void initialize(const InitializeParams &, Callback<json::Value> reply) {
    json::Object capabilities{{"textDocumentSync", json::Object{{"openClose", true}, {"change", 1}}}, // 1: whole texts
                              {"hoverProvider", true},
                              {"definitionProvider", true},
                              {"completionProvider", json::Object{{"resolveProvider", false}}},
                              {"documentFormattingProvider", true},
                              {"documentSymbolProvider", true}};
    reply(json::Object{{"capabilities", std::move(capabilities)}, {"serverInfo", json::Object{{"name", "skewer"}}}});
  }
  void initialized(const NoParams &) {}
  void shutdown(const NoParams &, Callback<std::nullptr_t> reply) {
    wasShutDown = true;
    reply(nullptr);
  }

  void report(const Document &document) {
    PublishDiagnosticsParams params(document.uri(), document.version());
    params.diagnostics = document.diagnostics();
    publish(params);
  }
  void opened(const DidOpenTextDocumentParams &params) {
    const TextDocumentItem &item = params.textDocument;
    documents.erase(item.uri.uri().str());
    auto [entry, isNew] = documents.emplace(item.uri.uri().str(), Document(item.uri, item.text, item.version));
    report(entry->second);
  }
  void changed(const DidChangeTextDocumentParams &params) {
    auto found = documents.find(params.textDocument.uri.uri().str());
    if (found == documents.end() || params.contentChanges.empty())
      return;
    found->second.change(params.contentChanges.back().text, params.textDocument.version);
    report(found->second);
  }
  void closed(const DidCloseTextDocumentParams &params) {
    auto found = documents.find(params.textDocument.uri.uri().str());
    if (found == documents.end())
      return;
    publish(PublishDiagnosticsParams(found->second.uri(), found->second.version())); // removes its diagnostics
    documents.erase(found);
  }

  /// Returns the document of a request; null, with an error as the reply, if it is not open.
  template <typename Result> Document *find(const TextDocumentIdentifier &id, Callback<Result> &reply) {
    auto found = documents.find(id.uri.uri().str());
    if (found != documents.end())
      return &found->second;
    reply(make_error<LSPError>("'" + id.uri.uri().str() + "' is not open", ErrorCode::InvalidParams));
    return nullptr;
  }
  void hover(const TextDocumentPositionParams &params, Callback<std::optional<Hover>> reply) {
    if (Document *document = find(params.textDocument, reply))
      reply(document->hover(params.position));
  }
  void definition(const TextDocumentPositionParams &params, Callback<std::vector<Location>> reply) {
    if (Document *document = find(params.textDocument, reply))
      reply(document->definition(params.position));
  }
  void completion(const TextDocumentPositionParams &params, Callback<CompletionList> reply) {
    if (Document *document = find(params.textDocument, reply))
      reply(document->completion(params.position));
  }
  void format(const DocumentSymbolParams &params, Callback<std::vector<TextEdit>> reply) {
    if (Document *document = find(params.textDocument, reply))
      reply(document->format());
  }
  void outline(const DocumentSymbolParams &params, Callback<std::vector<DocumentSymbol>> reply) {
    if (Document *document = find(params.textDocument, reply))
      reply(document->outline());
  }

  OutgoingNotification<PublishDiagnosticsParams> publish;
  std::map<std::string, Document> documents;
};

} // namespace

int serveAttn() {
  sys::ChangeStdinToBinary();
  JSONTransport transport(stdin, outs());
  MessageHandler handler(transport);
  Server server(handler);
  if (Error error = transport.run(handler)) {
    errs() << "skewer-lsp-server: error: " << toString(std::move(error)) << "\n";
    return 1;
  }
  return server.wasShutDown ? 0 : 1;
}

} // namespace skewer::lsp
