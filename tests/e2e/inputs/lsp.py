"""Tests the language server as its client: sends what an editor sends, and checks the answers. usage: lsp.py SERVER"""
import json
import os
import re
import subprocess
import sys
import unittest

SERVER = sys.argv.pop(1)
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
URI = "file:///tmp/layer.attn"
LAYER = """# BoTNet
param H = 4, W = 6, heads = 2, dim = 8
size batch
kernel botnet(q, k, v : f32[batch, heads, H*W, dim],
              rel_h   : f32[2*H - 1, dim],
              rel_w   : f32[2*W - 1, dim]) -> f32[batch, heads, H*W, dim] {
  content  = einsum("b h i d, b h j d -> b h i j", q, k)
  position = rel2d(q, rel_h, rel_w, map = (H, W))
  weights  = softmax((content + position) * dim^-0.5)
  return einsum("b h i j, b h j d -> b h i d", weights, v)
}
scheme own(x : [b, i], scale = 2) = x * scale
"""


class Client:
    def __init__(self):
        self.process = subprocess.Popen([SERVER, "--attn"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number, self.published = 0, []
        self.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.notify("initialized", {})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self):
        length = None
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise EOFError("the server has gone")
            if line == b"\r\n":
                break
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def reply_to(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                return message
            if message.get("method") == "textDocument/publishDiagnostics":
                self.published.append(message["params"])

    def request(self, method, params):
        reply = self.reply_to(method, params)
        assert "error" not in reply, reply
        return reply.get("result")

    def diagnostics(self):
        while not self.published:
            message = self.receive()
            if message.get("method") == "textDocument/publishDiagnostics":
                self.published.append(message["params"])
        return self.published.pop(0)

    def open(self, text, version=1):
        self.notify("textDocument/didOpen", {"textDocument": {"uri": URI, "languageId": "attn", "version": version,
                                                              "text": text}})
        return self.diagnostics()

    def change(self, text, version):
        self.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": version},
                                               "contentChanges": [{"text": text}]})
        return self.diagnostics()

    def at(self, method, text, mark, step=0, **more):
        """Sends a request about the first `mark` of the text, `step` characters into it."""
        place = text.index(mark) + step
        position = {"line": text.count("\n", 0, place), "character": place - (text.rfind("\n", 0, place) + 1)}
        return self.request(f"textDocument/{method}", {"textDocument": {"uri": URI}, "position": position, **more})

    def close(self):
        self.request("shutdown", None)
        self.notify("exit", None)
        self.process.stdin.close()
        code = self.process.wait(timeout=20)
        self.process.stdout.close()
        return code


def piece(text, found):
    lines = text.split("\n")
    assert found["start"]["line"] == found["end"]["line"], found
    return lines[found["start"]["line"]][found["start"]["character"]:found["end"]["character"]]


class LspTest(unittest.TestCase):
    def setUp(self):
        self.client = Client()

    def tearDown(self):
        self.assertEqual(self.client.close(), 0)

    def test_diagnostics_follow_the_text(self):
        first = self.client.open(LAYER)
        self.assertEqual((first["uri"], first["version"], first["diagnostics"]), (URI, 1, []))
        wrong = LAYER.replace("content + position", "content + positions")
        found, = self.client.change(wrong, 2)["diagnostics"]
        self.assertEqual(found["severity"], 1)
        self.assertEqual(piece(wrong, found["range"]), "positions")
        self.assertIn("did you mean 'position'?", found["message"])
        half = LAYER[:LAYER.index("weights  =")] + "weights = softmax("  # a text that is being typed
        found = self.client.change(half, 3)
        self.assertEqual(found["version"], 3)
        self.assertTrue(found["diagnostics"])
        self.assertEqual(self.client.change(LAYER, 4)["diagnostics"], [])

    def test_an_error_in_a_scheme_stands_at_its_call(self):
        text = LAYER.replace("map = (H, W))\n", "map = (H, H))\n")
        found, = self.client.open(text)["diagnostics"]
        self.assertEqual(found["range"]["start"]["line"], 7)
        self.assertIn("the map has as many places as there are queries", found["message"])

    def test_notes_and_warnings_come_with_their_places(self):
        text = "param N = 4\nkernel f(x : f32[N], N : f32[4]) -> f32[4] { return x }\n"
        found = self.client.open(text)["diagnostics"][0]
        self.assertIn("'N' is already a param or a size", found["message"])
        related, = found["relatedInformation"]
        self.assertEqual(piece(text, related["location"]["range"]), "N")
        self.assertEqual(related["location"]["range"]["start"]["line"], 0)
        text = "kernel f(x, y : f32[4]) -> f32[4] { return x }\n"
        found, = self.client.change(text, 2)["diagnostics"]
        self.assertEqual((found["severity"], piece(text, found["range"])), (2, "y"))

    def test_columns_are_those_of_utf_16(self):
        text = "kernel f(x : f32[4]) -> f32[4] { require 4 == 4, \"größe 𝕏\"; return z }\n"
        found, = self.client.open(text)["diagnostics"]
        units = text[:text.index("z }")].encode("utf-16-le")
        self.assertEqual(found["range"]["start"], {"line": 0, "character": len(units) // 2})

    def test_parameters_come_from_a_comment(self):
        text = "# skewer run f.attn -D N=4 -D gain=0.5\nparam N, gain\nkernel f(x : f32[N]) -> f32[N] { return x * gain }\n"
        self.assertEqual(self.client.open(text)["diagnostics"], [])
        found = self.client.change(text.replace("-D N=4", ""), 2)["diagnostics"]
        self.assertIn("param 'N' has no value", found[0]["message"])

    def test_hover_says_axes_sizes_and_class(self):
        self.client.open(LAYER)
        text = self.client.at("hover", LAYER, "content + ")["contents"]["value"]
        self.assertIn("value `f32[batch, 2, 24, 24]`, axes `b h i j`", text)
        self.assertRegex(text, r"- .*q·k: content")
        text = self.client.at("hover", LAYER, "position) *", 3)["contents"]["value"]
        self.assertRegex(text, r"- .*rel_h\[jy - iy \+ 3\]: offset per map axis, query side")
        self.assertRegex(text, r"- .*rel_w\[jx - ix \+ 5\]: offset per map axis, query side")
        self.assertNotIn("q·k", text)
        hover = self.client.at("hover", LAYER, "rel_h, rel_w")
        self.assertEqual(piece(LAYER, hover["range"]), "rel_h")
        self.assertIn("operand `f32[7, 8]`", hover["contents"]["value"])
        self.assertIn("\nrel_h   : f32[2*H - 1, dim]\n", hover["contents"]["value"])  # its own part of the line
        self.assertIn("\nq, k, v : f32[batch, heads, H*W, dim]\n", self.client.at("hover", LAYER, "q, k, v :")["contents"]["value"])
        text = self.client.at("hover", LAYER, "botnet")["contents"]["value"]
        self.assertRegex(text, r"(?s)kernel.*content.*offset per map axis, query side.*offset per map axis, query side")
        text = self.client.at("hover", LAYER, "rel2d")["contents"]["value"]
        self.assertIn("scheme rel2d(q : [b, h, i, d]", text)
        self.assertIn("over the last dimension", self.client.at("hover", LAYER, "softmax")["contents"]["value"])
        self.assertIn("param H = 4", self.client.at("hover", LAYER, "H*W")["contents"]["value"])
        self.assertIsNone(self.client.at("hover", LAYER, "-0.5"))
        # While the text is broken, names keep their earlier meanings.
        broken = LAYER.replace("dim^-0.5)", "dim^-0.5 +")
        self.client.change(broken, 2)
        text = self.client.at("hover", broken, "content + ")["contents"]["value"]
        self.assertIn("axes `b h i j`", text)

    def test_hover_says_which_operands_are_const(self):
        text = "kernel f(a, const b, c : f32[4], d : f32[4], const e : f32[4]) -> f32[4] { return a + b + c + d + e }\n"
        self.client.open(text)
        for name, mark in (("a", "a, const"), ("b", "b, c"), ("c", "c : f32"), ("d", "d : f32"), ("e", "e : f32")):
            said = self.client.at("hover", text, mark)["contents"]["value"]
            self.assertIn("operand `f32[4]`", said)
            self.assertEqual("`const`: the same at every call" in said, name in "bce", name)

    def test_definitions(self):
        self.client.open(LAYER)
        for mark, step, line, name in (("content + ", 0, 6, "content"), ("position) *", 0, 7, "position"),
                                       ("q, rel_h, rel_w", 0, 3, "q"), ("H*W", 0, 1, "H"), ("batch, heads, H*W", 0, 2, "batch"),
                                       ("rel_w, map", 0, 5, "rel_w"), ("x * scale", 4, 11, "scale")):
            found, = self.client.at("definition", LAYER, mark, step)
            self.assertEqual((found["uri"], found["range"]["start"]["line"]), (URI, line), mark)
            self.assertEqual(piece(LAYER, found["range"]), name)
        self.assertEqual(self.client.at("definition", LAYER, "rel2d"), [])  # built in
        # A name in an einsum's text, and a name that two kernels have.
        text = "param N = 4\n" + "".join(f"kernel {name}(x : f32[N]) -> f32[N] {{\n  y = einsum(\"(N - 1 - i) -> i\", x, i = N)\n"
                                         "  return y }\n" for name in "fg")
        self.client.change(text, 2)
        self.assertEqual(self.client.at("definition", text, "(N - 1", 1)[0]["range"]["start"]["line"], 0)
        second = text.rindex("return y")
        found = self.client.request("textDocument/definition", {
            "textDocument": {"uri": URI}, "position": {"line": text.count("\n", 0, second), "character": 9}})
        self.assertEqual(found[0]["range"]["start"]["line"], 5)

    def labels(self, text, mark, step=0):
        return [item["label"] for item in self.client.at("completion", text, mark, step)["items"]]

    def test_completion(self):
        self.client.open(LAYER)
        inside = self.labels(LAYER, "softmax(", 8)
        for name in ("q", "rel_h", "content", "position", "H", "batch", "own", "rel1d", "einsum", "clamp", "where"):
            self.assertIn(name, inside)
        self.assertEqual(len(inside), len(set(inside)))
        items = {item["label"]: item for item in self.client.at("completion", LAYER, "softmax(", 8)["items"]}
        self.assertLess(items["content"]["sortText"], items["H"]["sortText"])
        self.assertLess(items["H"]["sortText"], items["einsum"]["sortText"])
        self.assertIn("rel1d(q, table)", items["rel1d"]["detail"])
        scheme = self.labels(LAYER, "x * scale", 4)
        self.assertIn("scale", scheme)
        self.assertNotIn("content", scheme)

    def test_every_function_of_the_language_is_offered(self):
        self.client.open(LAYER)
        offered = self.labels(LAYER, "softmax(", 8)
        with open(os.path.join(ROOT, "dialect", "Language", "Evaluate.cpp"), encoding="utf-8") as stream:
            source = stream.read()
        source = source[source.index("Value Expressions::evaluateCall"):]
        known = re.findall(r'\{"(\w+)", typedBy<', source) + \
            re.findall(r'"(\w+)"', source[source.index("std::vector<std::string> names = {"):source.index("};", source.index("names = {"))])
        self.assertGreater(len(known), 30)
        self.assertEqual([name for name in known if name not in offered], [])

    def test_formatting(self):
        wild = LAYER.replace("  content  = einsum", "content=einsum").replace(", k)", ",k )")
        self.client.open(wild)
        options = {"options": {"tabSize": 2, "insertSpaces": True}}
        edit, = self.client.request("textDocument/formatting", {"textDocument": {"uri": URI}, **options})
        self.assertEqual(edit["newText"], LAYER)
        self.assertEqual(edit["range"]["end"]["line"], wild.count("\n"))
        self.client.change(LAYER, 2)
        self.assertEqual(self.client.request("textDocument/formatting", {"textDocument": {"uri": URI}, **options}), [])
        self.client.change("kernel (", 3)
        self.assertEqual(self.client.request("textDocument/formatting", {"textDocument": {"uri": URI}, **options}), [])

    def test_outline(self):
        self.client.open(LAYER)
        found = self.client.request("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
        self.assertEqual([item["name"] for item in found], ["H", "W", "heads", "dim", "batch", "botnet", "own"])

    def test_what_is_not_open_is_an_error_and_the_server_lives_on(self):
        position = {"textDocument": {"uri": "file:///tmp/none.attn"}, "position": {"line": 0, "character": 0}}
        self.assertIn("is not open", self.client.reply_to("textDocument/hover", position)["error"]["message"])
        self.assertIn("error", self.client.reply_to("textDocument/hover", {"position": 3}))
        self.assertIn("error", self.client.reply_to("textDocument/unknown", {}))
        self.client.open(LAYER)
        far = {"textDocument": {"uri": URI}, "position": {"line": 999, "character": 999}}
        self.assertIsNone(self.client.request("textDocument/hover", far))
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
        self.assertEqual(self.client.diagnostics()["diagnostics"], [])
        self.assertIn("error", self.client.reply_to("textDocument/hover", far))

    def test_unfinished_texts_of_every_length(self):
        self.client.open("")
        for end in range(0, len(LAYER), 37):
            text = LAYER[:end]
            self.client.change(text, end + 2)
            place = {"line": text.count("\n"), "character": 3}
            self.client.request("textDocument/completion", {"textDocument": {"uri": URI}, "position": place})
            self.client.request("textDocument/documentSymbol", {"textDocument": {"uri": URI}})


if __name__ == "__main__":
    unittest.main()
