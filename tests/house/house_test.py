#!/usr/bin/env python3
"""The checks of house.py find what they look for, in trees made for it."""
import os
import sys
import tempfile
import unittest
import unittest.mock

import house

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import readme_table


class HouseTest(unittest.TestCase):
    def findings(self, check, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as stream:
                    stream.write(text)
            return list(house.CHECKS[check](root))

    def test_file_length(self):
        self.assertEqual(self.findings("file-length", {"a.cpp": "\n" * 1000}), [])
        self.assertIn("1001 lines", self.findings("file-length", {"a.cpp": "\n" * 1001})[0])

    def test_machine_paths(self):
        for path in ("/" + "work/main", "/" + "root/x", "/" + "home/me"):
            self.assertEqual(len(self.findings("machine-paths", {"a.txt": f"first\nsee {path}\n"})), 1, path)
        self.assertEqual(self.findings("machine-paths", {"a.txt": "tests/" + "work/x /usr/lib/x https://x.org/" + "home/y\n"}), [])

    def test_unfinished(self):
        self.assertEqual(len(self.findings("unfinished", {"a.h": "// TO" + "DO: later\n"})), 1)
        self.assertEqual(self.findings("unfinished", {"a.h": "int toDo;\n"}), [])

    def test_pass_tests(self):
        table = 'def AttnCompose : Pass<"attn-compose", "func"> {\n}\n'
        run = "// RUN: skewer-opt --attn-compose %s | FileCheck %s\n"
        self.assertIn("has no test", self.findings("pass-tests", {"passes/Passes.td": table})[0])
        with_test = {"passes/Passes.td": table, "tests/passes/Fusion/attn-compose.mlir": run}
        self.assertEqual(self.findings("pass-tests", with_test), [])
        with_test["tests/passes/Fusion/attn-compose.mlir"] = "// RUN: skewer-opt %s\n"
        self.assertIn("no RUN line", self.findings("pass-tests", with_test)[0])
        self.assertEqual(len(self.findings("pass-tests", {"passes/Passes.td": ""})), 1)

        wrapped = {"passes/Passes.td": table, "passes/X.cpp": "struct X : PassWrapper<X, OperationPass<>> {\n",
                   "tests/passes/attn-compose.mlir": run}
        self.assertIn("passes/X.cpp:1: a pass without an entry", self.findings("pass-tests", wrapped)[0])

    def test_pass_examples(self):
        def findings(description, tested):
            table = f'def AttnCompose : Pass<"attn-compose", "func"> {{\n  let description = [{{{description}}}];\n}}\n'
            return self.findings("pass-examples", {"passes/Passes.td": table, "tests/passes/attn-compose.mlir": tested})
        example = "\n    ```mlir\n    %a = x.y %b : i32\n    ```\n    becomes\n    ```mlir\n    %a = z\n    ```\n"
        self.assertEqual(findings(example, "func.func @f {\n  // CHECK\n  %0 = x.y  %arg0 : i32\n}\n"), [])
        self.assertIn("is no case of", findings(example, "%0 = x.y %arg0 : i64\n")[0])
        self.assertIn("has no example", findings("words", "")[0])
        self.assertEqual(findings("(* example body=@f *)", "func.func @f() {\n}\n"), [])
        self.assertIn("is no function of", findings("(* example body=@f *)", "func.func @fg() {\n}\n")[0])

    def test_links(self):
        page = "[a](other.md#part) [b](https://x.org) [c](../code/)\n```\n[x](y.md)\n```\n`[x](y.md)`\n"
        files = {"docs/page.md": page, "docs/other.md": "", "code/x.cpp": ""}
        self.assertEqual(self.findings("links", files), [])
        files["docs/page.md"] = "\n[a](gone.md)\n"
        self.assertEqual(self.findings("links", files), ["docs/page.md:2: link to 'gone.md', which is not in the tree"])

    def test_link_titles(self):
        page = "[Machine files](machines.md) [speed](speed.md) [`skewer_load`](abi.md) ![a](a.svg) [X](https://x.org)\n"
        self.assertEqual(self.findings("link-titles", {"docs/page.md": page + "```\n[a.md](a.md)\n```\n"}), [])
        for words in ("abi.md", "docs/abi", "`passes/A.h`", "traps/", "ABI"):
            target = "ABI.md" if words == "ABI" else "abi.md"
            self.assertEqual(self.findings("link-titles", {"docs/page.md": f"\nsee [{words}]({target}#part)\n"}),
                             [f"docs/page.md:2: the text of the link to '{target}#part' is a file name: write a title"], words)

    def test_e2e_index(self):
        files = {"tests/e2e/run.test": "", "tests/e2e/layers/a.attn": "", "tests/e2e/layers/a.py": "", "tests/e2e/conformance/t5-1/k": "",
                 "tests/e2e/README.md": "`ctest -R x`\n| `run.test` | `layers`, `conformance` |\n| `a` | `t5-*`, `ctest -R x` |\n"}
        self.assertEqual(self.findings("e2e-index", files), [])
        files["tests/e2e/more/CMakeLists.txt"] = files["tests/e2e/layers/b.attn"] = ""
        files["tests/e2e/README.md"] = files["tests/e2e/README.md"].replace("`t5-*`", "`t6-*`")
        self.assertEqual(self.findings("e2e-index", files),
                         [f"tests/e2e/README.md:1: '{name}' is not in the index" for name in ("b", "more", "t5-1")] +
                         ["tests/e2e/README.md:3: 't6-*' is no folder, test, layer, scheme or case"])

    def test_paths(self):
        page = "`passes/Cpu/A.cpp`, passes/*/A.cpp, B.h, Cpu/A.cpp, `build/docs/x` https://x.org/docs/y NAME.h\n"
        files = {"docs/page.md": page, "passes/Cpu/A.cpp": '// see B.h; "docs/no"\nf("docs/no"); // B.h\n', "passes/Emit/B.h": "",
                 "tests/a.py": '"""passes/Emit"""\nx = "docs/no"\nfiles = {\n    "docs/no": ""}\n', "tests/x/b.py": "# a: x/b.py\n"}
        self.assertEqual(self.findings("paths", files), ["passes/Cpu/A.cpp:1: 'docs/no' is not in the tree"])
        files["passes/Cpu/A.cpp"] = "f();  // Emit/C.h and passes/Gpu\n"
        files["tests/a.py"] = 'def f():\n    """As passes/Gpu/*.cpp."""\n    # D.td\n'
        self.assertEqual([finding.split(": ", 1) for finding in self.findings("paths", files) if "docs" not in finding.split(":")[0]],
                         [["passes/Cpu/A.cpp:1", "'passes/Gpu' is not in the tree"],
                          ["passes/Cpu/A.cpp:1", "no file of the tree is called 'Emit/C.h'"],
                          ["tests/a.py:2", "'passes/Gpu/*.cpp' is not in the tree"],
                          ["tests/a.py:3", "no file of the tree is called 'D.td'"]])

    def test_scheme_names(self):
        files = {"dialect/Schemes/zigzag.attn": "scheme zigzag(q : [b]) = q\n", "passes/A.cpp": 'if (name == "zigzag")\n'}
        self.assertEqual(len(self.findings("scheme-names", files)), 1)
        files["passes/A.cpp"] = '// "zigzag" is one such\nprint("zigzags");\n'
        self.assertEqual(self.findings("scheme-names", files), [])

    def test_axis_names(self):
        files = {"passes/Fusion/Roles.cpp": 'if (axis == "h" || axis == "iy")\n'}
        self.assertEqual(len(self.findings("axis-names", files)), 2)
        files = {"passes/Fusion/Roles.cpp": '// "h"\nname = "d" + std::to_string(k) + "by" + kQueryAxis;\n',
                 "passes/Analysis/AxisNames.h": 'inline const std::string kQueryAxis = "i";\n',
                 "dialect/Language/Typer.cpp": 'axis == "j"\n'}
        self.assertEqual(self.findings("axis-names", files), [])

    def test_layers(self):
        files = {"passes/Cpu/A.cpp": '#include "passes/Emit/B.h"\n#include "passes/Passes.h"\n',
                 "passes/Emit/B.h": '#include "passes/Analysis/C.h"\n', "codegen/D.h": '#include "passes/Cpu/E.h"\n'}
        self.assertEqual(self.findings("layers", files), [])
        files["passes/Analysis/C.h"] = '\n#include "passes/Emit/B.h"\n'
        files["passes/Gpu/F.cpp"] = '#include "passes/Cpu/E.h"\n'
        files["dialect/IR/G.h"] = '#include "passes/Passes.h"\n'
        files["passes/Elsewhere/H.h"] = "\n"
        self.assertEqual([finding.split(":")[0] for finding in self.findings("layers", files)],
                         ["passes/Analysis/C.h", "passes/Elsewhere/H.h", "passes/Gpu/F.cpp", "dialect/IR/G.h"])

    def test_compiler_header(self):
        files = {"tools/skewer/A.cpp": '#include "codegen/Compiler/Compiler.h"\n#include "codegen/Compiler/Request.h"\n',
                 "tests/unit/B.cpp": '#include "codegen/Compiler/EveryLength.h"\n',
                 "codegen/Compiler/C.cpp": '#include "codegen/Compiler/KernelNames.h"\n'}
        self.assertEqual(self.findings("compiler-header", files), [])
        files["tests/fuzz/D.h"] = '\n#include "codegen/Compiler/Facts.h"\n'
        self.assertEqual(self.findings("compiler-header", files),
                         ["tests/fuzz/D.h:2: includes Facts.h of codegen/Compiler: include Compiler.h"])

    def test_plugin_headers(self):
        files = {"tools/cmake/SkewerPluginHeaders.cmake": "set(HEADERS # passes/C.h\n    passes/A.h passes/B.h)\nset(MADE passes/D.h.inc)\n",
                 "tools/cmake/SkewerPackage.cmake": "foreach(header IN LISTS MADE ITEMS tools/E.h)\n",
                 "passes/A.h": '#include "passes/B.h"\n#include "passes/D.h.inc"\n#include "mlir/IR/Builders.h"\n',
                 "passes/B.h": '#include "tools/E.h"\n', "passes/C.h": ""}
        self.assertEqual(self.findings("plugin-headers", files), [])
        files["passes/B.h"] = '\n#include "passes/C.h"\n'
        self.assertEqual(self.findings("plugin-headers", files), ["passes/B.h:2: is installed for plugins, but 'passes/C.h' is not: add it to "
                                                                 "tools/cmake/SkewerPluginHeaders.cmake"])
        del files["passes/A.h"]
        self.assertIn("SkewerPluginHeaders.cmake:2: 'passes/A.h' is not in the tree", self.findings("plugin-headers", files)[0])

    def test_linked_layers(self):
        found = [("passes/Analysis/A.cpp", ["a"], ["e"]), ("passes/Cpu/B.cpp", ["b"], ["a", "free"]),
                 ("dialect/IR/E.cpp", ["e"], []), ("codegen/C.cpp", ["c"], ["b"])]
        with unittest.mock.patch.object(house, "symbols", lambda root, build: found):
            self.assertEqual(self.findings("linked-layers", {}), [])
            found[0][2].append("b")
            found[2][2].append("a")
            self.assertEqual([finding.split(" of ")[0] for finding in self.findings("linked-layers", {})],
                             ["passes/Analysis/A.cpp:1: passes/Analysis calls b", "dialect/IR/E.cpp:1: dialect calls a"])
            found.clear()
            self.assertIn("no object file", self.findings("linked-layers", {})[0])

    def test_skeletons(self):
        files = {"passes/Gpu/Shape/GpuShape.h": 'namespace strategy {\nconstexpr X kMatmul = "matmul",\n kLine = "line";\n}\n',
                 "passes/Cpu/CpuKernel.cpp": '#include "passes/Cpu/Strategy.h"\nstrategy->plan(); // the "band"\n',
                 "passes/Cpu/Strategies/Band.cpp": '#include "passes/Cpu/Strategies/OffsetTable.h"\nname() const override { return "band"; }\n',
                 "passes/Cpu/Strategies/Bias.cpp": 'class A : B { A() : BiasStrategy("row_load", X) {} };\n'}
        self.assertEqual(self.findings("skeletons", files), [])
        for name in ("line", "band", "row_load"):
            files["dialect/IR/A.cpp"] = files["passes/Cpu/Schedule/A.h"] = f'if (name == "{name}")\n'
            self.assertEqual([finding.split(":")[0] for finding in self.findings("skeletons", files)],
                             ["dialect/IR/A.cpp", "passes/Cpu/Schedule/A.h"])
        del files["dialect/IR/A.cpp"], files["passes/Cpu/Schedule/A.h"]
        files["passes/Cpu/CpuKernel.cpp"] = ('#include "passes/Cpu/Strategies/OffsetTable.h"\n'
                                             'if (name == "band" || term.kind == RowKind::Axis)\n')
        self.assertEqual(len(self.findings("skeletons", files)), 3)

    def test_members(self):
        fields = "".join(f"  int64_t a{n} = 0, b{n}{{1, 2}};\n" for n in range(12))
        text = ("class Plan : Base {\npublic:\n" + fields + "  std::function<void(int, int)> last; // the 25th\n"
                "  static constexpr int kMost = 3;\n  int64_t sum() const { return a0; }\n  void f(int = 2);\n};\n")
        self.assertEqual(self.findings("members", {"passes/Cpu/Plan.cpp": text}), [])
        more = text.replace("  void f(", "private:\n  std::map<std::string, int> sizes = {};\n  void f(")
        self.assertEqual(self.findings("members", {"passes/Cpu/Plan.cpp": more}),
                         ["passes/Cpu/Plan.cpp:1: Plan has 26 fields and 2 functions, at most 25 and 40: divide it"])
        functions = "".join(f"  void f{n}(int a, int b);\n  bool operator<(int) const {{ return a{n}; }}\n" for n in range(20))
        text = "struct Shape {\n  struct Inner {\n" + fields + "  };\n" + functions + "  ~Shape();\n};\n"
        self.assertEqual(self.findings("members", {"passes/Cpu/Shape.h": text}),
                         ["passes/Cpu/Shape.h:1: Shape has 0 fields and 41 functions, at most 25 and 40: divide it"])

    def test_constraints(self):
        files = {"dialect/SPEC.md": "| number | constraint |\n|---|---|\n| pad_c1 | x |\n",
                 "dialect/IR/Verify.cpp": 'emitError("x (pad_c1)")\n', "tests/dialect/pad.mlir": "// pad_c1\n"}
        self.assertEqual(self.findings("constraints", files), [])
        files["dialect/IR/Verify.cpp"] = 'emitError("x (pad_c12)")\n'
        self.assertEqual(self.findings("constraints", files),
                         ["dialect/SPEC.md:3: no verifier cites pad_c1", "dialect/IR/Verify.cpp:1: pad_c12 is not in dialect/SPEC.md"])
        del files["tests/dialect/pad.mlir"]
        self.assertIn("dialect/SPEC.md:3: no test in tests/dialect names pad_c1", self.findings("constraints", files))


class ReadmeTableTest(unittest.TestCase):
    RESULTS = ("# Results\n\n## Beside peers\n\nOne core,\n2026-11-21; some later.\n\n"
               "| workload | best peer | Skewer | of peak | times faster |\n|---|---|---|---|---|\n"
               "| a | 2 ms (X) | 1 ms | 9 % | 2.0 |\n| b, later | 3 ms (X) | 1 ms | 9 % | 3.0 |\n\n| d |\n\n## More\n\n| c |\n")

    def test_table(self):
        """The first table alone, without rows of later in the README; the machine and the date; links from the page's folder."""
        short, full = readme_table.COPIES[:2]
        table = readme_table.table(self.RESULTS, short)
        self.assertEqual(table, "One core, 2026-11-21 ([all results](tests/bench/RESULTS.md#beside-peers)):\n\n"
                                "| workload | best peer | Skewer | times faster |\n|---|---|---|---|\n"
                                "| a | 2 ms (X) | 1 ms | 2.0 |\n")
        self.assertEqual(readme_table.table(self.RESULTS, full),
                         "One core, 2026-11-21; some later ([all results](../tests/bench/RESULTS.md#beside-peers)):\n\n"
                         "| workload | best peer | Skewer | of peak | times faster |\n|---|---|---|---|---|\n"
                         "| a | 2 ms (X) | 1 ms | 9 % | 2.0 |\n| b, later | 3 ms (X) | 1 ms | 9 % | 3.0 |\n")
        self.assertIn("|\n| b, later | 3 ms", readme_table.table(self.RESULTS.replace("| a | 2 ms (X) |", "| a | |"), full._replace(needs="best peer")))
        begin, end = readme_table.marks(short)
        page = "# A\n" + begin + "old\n" + end + "end\n"
        once = readme_table.with_table(page, short, table)
        self.assertEqual(once, page.replace("old\n", table))
        self.assertEqual(readme_table.with_table(once, short, table), once)
        self.assertIsNone(readme_table.with_table("# A\n", short, table))
        self.assertIsNone(readme_table.with_table(page + page, short, table))


if __name__ == "__main__":
    unittest.main()
