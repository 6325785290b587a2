#!/usr/bin/env python3
"""Tests plant.py: it notices faults that no longer fit the tree, and leaves a fault's file as it was."""
import glob
import os
import re
import tempfile
import unittest

import plant
from faults import Fault


class PlantTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        plant.write(os.path.join(self.root, "a.cpp"), "int once = 1;\nint twice = 2, twice_more = 2;\n")

    def tearDown(self):
        self.folder.cleanup()

    def test_stale(self):
        def messages(*edit, file="a.cpp"):
            return plant.check([Fault("f", file, "", *edit)], self.root)
        self.assertEqual(messages("once = 1", "once = 2"), [])
        self.assertIn("stands 0 times", messages("gone", "")[0])
        self.assertIn("stands 2 times", messages("= 2", "= 3")[0])
        self.assertIn("changes nothing", messages("once", "once")[0])
        self.assertIn("no b.cpp", messages("once", "", file="b.cpp")[0])
        fault = Fault("f", "a.cpp", "", "once", "")
        self.assertEqual(plant.check([fault, fault], self.root), ["two faults are called 'f'"])

    def test_judge(self):
        path = os.path.join(self.root, "a.cpp")
        original = plant.read(path)

        class Copy(plant.Copy):
            def __init__(self, root, text):
                self.source, self.build, self.jobs, self.without, self.lock = root, root, 1, [], plant.Lock(None, 0)
                self.record = os.path.join(root, "passed.json")
                self.passed = {"seconds": {}, "cases": {}}
                self.tests = [plant.Test("Text", [], ["sh", "-c", "echo $GTEST_FILTER >>filters; "
                                                      f"echo '[  FAILED  ] A.B'; grep -q '{text}' a.cpp"])]

            def ninja(self, *targets):
                return 0, ""

        fault = Fault("f", "a.cpp", "", "once", "never")
        self.assertEqual(Copy(self.root, "int once").judge(fault), "Text: A.B")
        self.assertEqual(plant.read(path), original)
        self.assertIsNone(Copy(self.root, "int twice").judge(fault))

        filters = os.path.join(self.root, "filters")
        os.remove(filters)
        self.assertEqual(Copy(self.root, "int once").judge(fault, ("Text", "A.B")), "Text: A.B")
        self.assertEqual(plant.read(filters), "A.B-\nA.B-\n")  # without the fault, then with it
        self.assertIsNone(Copy(self.root, "int twice").judge(fault, ("Text", "A.B")))
        self.assertEqual(plant.read(filters).splitlines()[4:], ["*-", "*-"])  # all cases, if the one case does not notice
        self.assertEqual(plant.read(path), original)

    def test_what_caught_a_fault_before(self):
        text = ("| fault | file | caught by | s |\n| - | - | - | - |\n| a | f | LexerTest: Lexer.X | 1 |\n"
                "| b | f | NOT CAUGHT | 1 |\n| c | f | lit.e2e: e2e/x.test | 2 |\n| d | f | fuzz: seed 7 | 2 |\n"
                "| e | f | AbiTest: Abi.X (crash) | 2 |\n\n| a | b |\n| d | LexerTest: L.Y |\n")
        self.assertEqual(plant.caught_before(text), {"a": ("LexerTest", "Lexer.X"), "c": ("lit.e2e", "e2e/x.test"),
                                                     "d": ("fuzz", "seed 7"), "e": ("AbiTest", "Abi.X")})

    def test_the_table_is_of_this_tree(self):
        os.makedirs(os.path.join(self.root, "tests", "unit"))
        os.makedirs(os.path.join(self.root, "tests", "e2e"))
        plant.write(os.path.join(self.root, "tests", "unit", "ATest.cpp"), "TEST(A, B) {\nTEST_P(C, D) {\n")
        plant.write(os.path.join(self.root, "tests", "e2e", "x.test"), "")

        def messages(*rows):
            table = "| fault | file | caught by |\n| --- | --- | --- |\n" + "".join(f"| {row} |\n" for row in rows)
            return plant.check_table(table, [Fault("f", "a.cpp", "", "once", "")], self.root)
        for test in ("ATest: A.B", "ATest: I/C.D/0", "ATest: A.B (crash)", "lit.e2e: e2e/x.test", "fuzz: seed 3"):
            self.assertEqual(messages("f | a.cpp | " + test), [])
        self.assertIn("no row for fault 'f'", messages()[0])
        counted = "The table has 2 faults.\n\n| fault | file | caught by |\n| --- | --- | --- |\n| f | a.cpp | ATest: A.B |\n"
        self.assertEqual(plant.check_table(counted, [Fault("f", "a.cpp", "", "once", "")], self.root),
                         ["README.md says that its table has 2 faults; it has 1"])
        self.assertIn("two rows for 'f'", messages("f | a.cpp | ATest: A.B", "f | a.cpp | ATest: A.B")[0])
        self.assertIn("row for 'g'", messages("f | a.cpp | ATest: A.B", "g | a.cpp | ATest: A.B")[0])
        self.assertIn("in b.cpp; faults.py says a.cpp", messages("f | b.cpp | ATest: A.B")[0])
        self.assertIn("by 'NOT CAUGHT'", messages("f | a.cpp | NOT CAUGHT")[0])
        self.assertIn("no A.E in tests/unit/ATest.cpp", messages("f | a.cpp | ATest: A.E")[0])
        self.assertIn("no tests/unit/BTest.cpp", messages("f | a.cpp | BTest: A.B")[0])
        self.assertIn("no tests/e2e/y.test", messages("f | a.cpp | lit.e2e: e2e/y.test")[0])

    def test_the_table_of_seeds_is_of_this_tree(self):
        seeds = "| faults, each with a seed | code of |\n|---|---|\n| f 3, g-h 12 | x |\n\n| i 5, | x |\n"
        self.assertEqual(plant.names_with_seeds(seeds), ["f", "g-h"])
        rows = "| fault | file | caught by |\n| - | - | - |\n| f | a.cpp | fuzz: seed 3 |\n\n"
        self.assertEqual(plant.check_table(rows + seeds, [Fault("f", "a.cpp", "", "once", "")], self.root),
                         ["README.md names a seed for 'g-h', which faults.py does not have"])

    def test_one_random_layer(self):
        fuzz = plant.Fuzz("fuzz", [], ["skewer-fuzz"])
        self.assertEqual(fuzz.command_for("seed 7"), ["skewer-fuzz", "--seeds", "7:8"])
        self.assertEqual(fuzz.command_for(None), ["skewer-fuzz", "--seeds", plant.SEEDS])

    def test_a_test_without_end(self):
        test = plant.Test("Slow", [], ["sleep", "600"])
        test.seconds = -5.98  # the limit is ten times this and a minute
        copy = type("Copy", (), {"build": self.root, "jobs": 1, "without": []})
        self.assertIn("no end", test.failure(copy))

    def test_the_name_of_what_fails(self):
        copy = type("Copy", (), {"build": self.root, "jobs": 1, "without": []})
        for output, name in (("[  FAILED  ] A.B", "A.B"), ("seed 12: wrong", "seed 12"),
                             ("1/1 Test #3: lit.x ...***Failed\nFAIL: S :: x/y.mlir (1 of 2)", "x/y.mlir"),
                             ("1/2 Test #7: fuzz.found-a ....   Passed\n 2/2 Test #8: fuzz.found-b ....***Failed 1 sec",
                              "fuzz.found-b")):
            self.assertEqual(plant.Test("T", [], ["sh", "-c", f"echo '{output}'; exit 1"]).failure(copy), "T: " + name)

    def test_cases_of_a_file(self):
        text = "TEST(A, B) {\nTEST_F(C,\n       D) {\nTEST_P(E, F) {\nINSTANTIATE_TEST_SUITE_P(G, E, H);\n"
        self.assertEqual(plant.cases_of(text), ["A.B", "C.D", "*/E.F/*"])
        for path in glob.glob(os.path.join(plant.ROOT, "tests", "unit", "*Test.cpp")):
            cases = plant.cases_of(plant.read(path))
            self.assertEqual(len(cases), len(re.findall(r"\bTEST(?:_[FP])?\(", plant.read(path))), path)
            self.assertTrue(cases, path)

    def test_program_of_a_file(self):
        commands = [{"file": "/t/a.cpp", "command": "c++ -o unit/CMakeFiles/OneTests.dir/a.cpp.o -c"},
                    {"file": "/t/b.cpp", "command": "c++ -o unit/CMakeFiles/OtherTests.dir/b.cpp.o -c"}]
        self.assertEqual(plant.program_of("/t/b.cpp", commands), "OtherTests")
        self.assertIsNone(plant.program_of("/t/c.cpp", commands))

    def test_table(self):
        fault = Fault("f", "a.cpp", "all", "", "")
        text = plant.table([(fault, {"caught": None, "seconds": 1.2})])
        self.assertIn("| f     | a.cpp | all            | NOT CAUGHT | 1       |", text)


if __name__ == "__main__":
    unittest.main()
