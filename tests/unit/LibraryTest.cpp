// Tests libskewer through skewer.h alone, as a program uses it.
#include "tools/libskewer/skewer.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using Answer = std::unique_ptr<skewer_answer, decltype(&skewer_answer_free)>;

constexpr const char *kLayer = "param N = 8, d = 4\n"
                               "size batch\n"
                               "kernel tiny(q, k, v : f32[batch, N, d]) -> f32[batch, N, d] {\n"
                               "  w = softmax(einsum(\"b i d, b j d -> b i j\", q, k) * d^-0.5)\n"
                               "  return einsum(\"b i j, b j d -> b i d\", w, v)\n"
                               "}\n";

skewer_request requestOf(const char *text) {
  skewer_request request = skewer_request_init();
  request.text = text;
  request.path = "tiny.attn";
  return request;
}

Answer compiled(const skewer_request &request) { return Answer(skewer_compile(&request), &skewer_answer_free); }

std::string fileOf(const Answer &answer, const std::string &name) {
  for (size_t k = 0; k < skewer_answer_file_count(answer.get()); ++k)
    if (skewer_answer_file_name(answer.get(), k) == name) {
      size_t bytes = 0;
      const void *data = skewer_answer_file(answer.get(), k, &bytes);
      return std::string(static_cast<const char *>(data), bytes);
    }
  return "";
}

/// Returns what `call` writes to the process's standard error and output.
template <typename Call> std::string printedBy(Call call) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  call();
  fflush(nullptr);
  return testing::internal::GetCapturedStderr() + testing::internal::GetCapturedStdout();
}

/// Returns the argument struct of docs/abi.md, with a word for each field.
std::vector<uint64_t> wordsOf(const float *q, const float *k, const float *v, float *out, int64_t batch) {
  std::vector<uint64_t> words = {0,
                                 uint64_t(uintptr_t(q)),
                                 uint64_t(uintptr_t(k)),
                                 uint64_t(uintptr_t(v)),
                                 uint64_t(uintptr_t(out)),
                                 uint64_t(batch),
                                 0,
                                 0,
                                 0};
  words[0] = words.size() * 8 | uint64_t(1) << 32;
  return words;
}

struct Exec {
  uint32_t size = 48, version = 1;
  void *workspace = nullptr;
  uint64_t workspaceBytes = 0;
  int32_t workers = 1, reserved = 0;
  void *context = nullptr;
  void (*parallelFor)(void *, int64_t, void (*)(void *, int64_t, int64_t, int32_t), void *) = nullptr;
};

using Entry = int32_t (*)(const void *, const void *);
using Workspace = size_t (*)(const void *, const void *);

/// Runs `tiny` for a batch of two and compares with explicit sums.
void expectRight(Entry entry, Workspace workspaceOf, skewer_team *team = nullptr, int32_t workers = 1) {
  ASSERT_TRUE(entry && workspaceOf);
  constexpr int kBatch = 2, kLength = 8, kWidth = 4, kCount = kBatch * kLength * kWidth;
  std::vector<float> q(kCount), k(kCount), v(kCount), out(kCount, NAN);
  for (int n = 0; n < kCount; ++n)
    q[n] = std::sin(n), k[n] = std::cos(3 * n), v[n] = std::sin(7 * n);
  std::vector<uint64_t> words = wordsOf(q.data(), k.data(), v.data(), out.data(), kBatch);
  Exec exec;
  exec.workers = workers;
  exec.context = team;
  exec.parallelFor = team ? &skewer_team_parallel_for : nullptr;
  exec.workspaceBytes = workspaceOf(words.data(), &exec);
  ASSERT_NE(exec.workspaceBytes, SIZE_MAX);
  exec.workspaceBytes = (exec.workspaceBytes + 127) / 64 * 64;
  exec.workspace = std::aligned_alloc(64, exec.workspaceBytes);
  EXPECT_EQ(entry(words.data(), &exec), 0);
  std::free(exec.workspace);
  for (int b = 0; b < kBatch; ++b)
    for (int i = 0; i < kLength; ++i)
      for (int c = 0; c < kWidth; ++c) {
        double sum = 0, weighted = 0;
        for (int j = 0; j < kLength; ++j) {
          double score = 0;
          for (int d = 0; d < kWidth; ++d)
            score += double(q[(b * kLength + i) * kWidth + d]) * k[(b * kLength + j) * kWidth + d];
          double weight = std::exp(score * 0.5);
          sum += weight;
          weighted += weight * v[(b * kLength + j) * kWidth + c];
        }
        EXPECT_NEAR(out[(b * kLength + i) * kWidth + c], weighted / sum, 1e-5);
      }
}

TEST(Library, SaysWhichItIs) {
  EXPECT_EQ(skewer_library_api_version(), uint32_t(SKEWER_LIBRARY_API_VERSION));
  std::string version = skewer_library_version(), build = skewer_library_build();
  EXPECT_EQ(build.substr(0, version.size() + 1), version + "-");
  EXPECT_GE(build.size(), version.size() + 41); // a hash of 20 bytes
}

TEST(Library, CompilesATextToMemory) {
  Answer answer = compiled(requestOf(kLayer));
  ASSERT_EQ(skewer_answer_status(answer.get()), SKEWER_ANSWER_DONE) << skewer_answer_messages(answer.get());
  EXPECT_EQ(fileOf(answer, "tiny.o").substr(1, 3), "ELF");
  EXPECT_NE(fileOf(answer, "tiny.h").find("tiny_args"), std::string::npos);
  EXPECT_EQ(fileOf(answer, "tiny.json").front(), '{');
  EXPECT_EQ(skewer_answer_file_name(answer.get(), 99), nullptr);
  EXPECT_EQ(skewer_answer_diagnostic_count(answer.get()), 0u);
}

TEST(Library, AFileAndItsTextAreTheSame) {
  skewer_request request = skewer_request_init();
  std::string path = SKEWER_SOURCE_DIR "/examples/rel1d/rel1d.attn";
  const char *parameters[] = {"N=32"};
  request.path = path.c_str();
  request.parameters = parameters;
  request.parameter_count = 1;
  Answer file = compiled(request);
  std::ifstream stream(path);
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  request.text = text.c_str();
  Answer memory = compiled(request);
  ASSERT_EQ(skewer_answer_status(file.get()), SKEWER_ANSWER_DONE) << skewer_answer_messages(file.get());
  ASSERT_GT(skewer_answer_file_count(file.get()), 0u);
  for (size_t k = 0; k < skewer_answer_file_count(file.get()); ++k) {
    std::string name = skewer_answer_file_name(file.get(), k);
    EXPECT_EQ(fileOf(file, name), fileOf(memory, name)) << name;
  }
}

TEST(Library, DiagnosticsAreDataAndNotPrinted) {
  std::string printed = printedBy([] {
    Answer answer = compiled(requestOf("kernel wrong(q : f32[4, 4]) -> f32[4, 4] {\n  return q + missing\n}\n"));
    EXPECT_EQ(skewer_answer_status(answer.get()), SKEWER_ANSWER_WRONG);
    EXPECT_EQ(skewer_answer_file_count(answer.get()), 0u);
    ASSERT_GE(skewer_answer_diagnostic_count(answer.get()), 1u);
    skewer_diagnostic first = skewer_answer_diagnostic(answer.get(), 0);
    EXPECT_STREQ(first.file, "tiny.attn");
    EXPECT_EQ(first.line, 2u);
    EXPECT_EQ(first.column, 14u);
    EXPECT_EQ(first.severity, SKEWER_SEVERITY_ERROR);
    EXPECT_NE(std::string(first.text).find("missing"), std::string::npos);
    EXPECT_EQ(first.length, 7u); // all of "missing"
    EXPECT_STREQ(first.source, "  return q + missing");
    Answer noted = compiled(requestOf("kernel wrong(q : f32[4]) -> f32[4] { return p }"));
    ASSERT_EQ(skewer_answer_diagnostic_count(noted.get()), 2u) << skewer_answer_messages(noted.get());
    EXPECT_EQ(skewer_answer_diagnostic(noted.get(), 1).severity, SKEWER_SEVERITY_NOTE);
    EXPECT_STREQ(skewer_answer_diagnostic(answer.get(), 99).text, "");
  });
  EXPECT_EQ(printed, "");
}

std::vector<skewer_diagnostic> diagnosticsOf(const Answer &answer) {
  std::vector<skewer_diagnostic> all;
  for (size_t k = 0; k < skewer_answer_diagnostic_count(answer.get()); ++k)
    all.push_back(skewer_answer_diagnostic(answer.get(), k));
  return all;
}

/// A name or a line that looks like a message would mislead a program that parses messages.
TEST(Library, DiagnosticsAreNotReadFromText) {
  skewer_request request = requestOf("# x.attn:1:2: error: no\nkernel wrong(q : f32[4]) -> f32[4] { return p } # a: error: b\n");
  request.path = "a:7: error: b.attn";
  Answer answer = compiled(request);
  std::vector<skewer_diagnostic> all = diagnosticsOf(answer);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_STREQ(all[0].file, "a:7: error: b.attn");
  EXPECT_EQ(all[0].line, 2u);
  EXPECT_EQ(all[0].column, 45u);
  EXPECT_EQ(all[0].severity, SKEWER_SEVERITY_ERROR);
  EXPECT_EQ(all[1].severity, SKEWER_SEVERITY_NOTE);
  EXPECT_NE(std::string(skewer_answer_messages(answer.get())).find("a:7: error: b.attn:2:45: error: unknown name 'p'\n"),
            std::string::npos);
}

TEST(Library, EveryDiagnosticIsInTheMessages) {
  for (const char *text : {"kernel wrong(q : f32[4]) -> f32[4] { return p + x }", "kernel f(", "",
                           "kernel f(q, t : f32[4]) -> f32[4] { return q + t[5] }",
                           "kernel f(q : f32[8]) -> f32[8] {\n  unused = q + 1\n  return q }"}) {
    Answer answer = compiled(requestOf(text));
    std::string messages = skewer_answer_messages(answer.get());
    size_t from = 0;
    for (const skewer_diagnostic &d : diagnosticsOf(answer)) {
      from = messages.find(d.text, from);
      EXPECT_NE(from, std::string::npos) << d.text << " in\n" << messages;
    }
  }
}

TEST(Library, WarningsOfWhatCompiles) {
  Answer answer = compiled(requestOf("kernel f(q : f32[8]) -> f32[8] {\n  unused = q + 1\n  return q }"));
  EXPECT_EQ(skewer_answer_status(answer.get()), SKEWER_ANSWER_DONE) << skewer_answer_messages(answer.get());
  std::vector<skewer_diagnostic> all = diagnosticsOf(answer);
  ASSERT_EQ(all.size(), 1u) << skewer_answer_messages(answer.get());
  EXPECT_EQ(all[0].severity, SKEWER_SEVERITY_WARNING);
  EXPECT_EQ(all[0].line, 2u);
  EXPECT_EQ(all[0].column, 3u);
  EXPECT_STREQ(all[0].source, "  unused = q + 1");
}

/// Errors outside the text: a machine file, a module's line, an option, a length at which the layer means nothing.
TEST(Library, DiagnosticsOfOtherThingsHaveTheirPlaces) {
  std::string path = testing::TempDir() + "machine-" + std::to_string(getpid()) + ".json";
  std::ofstream(path) << "{\n  \"name\": \"mine\",\n  \"lanez\": 3\n}\n";
  skewer_request request = requestOf(kLayer);
  request.target = path.c_str();
  Answer answer = compiled(request);
  std::vector<skewer_diagnostic> all = diagnosticsOf(answer);
  unlink(path.c_str());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].file, path);
  EXPECT_GE(all[0].line, 1u);
  EXPECT_EQ(std::string(all[0].text).find("error"), std::string::npos) << all[0].text;

  request = requestOf("func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n  return %b : tensor<4xf32>\n}\n");
  request.path = "layer.mlir";
  Answer module = compiled(request);
  all = diagnosticsOf(module);
  ASSERT_GE(all.size(), 1u);
  EXPECT_STREQ(all[0].file, "layer.mlir");
  EXPECT_EQ(all[0].line, 2u);
  EXPECT_EQ(all[0].column, 10u);
  EXPECT_STREQ(all[0].source, "  return %b : tensor<4xf32>");

  request = requestOf(kLayer);
  request.target = "pentium-0";
  Answer target = compiled(request);
  all = diagnosticsOf(target);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_STREQ(all[0].file, "");
  EXPECT_EQ(std::string(all[0].text).find("skewer"), std::string::npos);
  EXPECT_EQ(std::string(skewer_answer_messages(target.get())).find("skewer: error: --target: unknown"), 0u);
}

TEST(Library, PicturesAndPagesAreText) {
  skewer_request request = requestOf("kernel heads(q, k, v : f32[3, 8, 4]) -> f32[3, 8, 4] {\n"
                                     "  s = einsum(\"h i d, h j d -> h i j\", q, k)\n"
                                     "  return einsum(\"h i j, h j d -> h i d\", softmax(s), v)\n}\n");
  request.head = 2;
  Answer picture(skewer_plot(&request), &skewer_answer_free), page(skewer_report(&request), &skewer_answer_free);
  EXPECT_NE(std::string(skewer_answer_text(picture.get())).find("h = 2"), std::string::npos);
  std::string text = skewer_answer_text(page.get());
  EXPECT_EQ(text.find("<!DOCTYPE html>"), 0u);
  EXPECT_NE(text.find("h = 2"), std::string::npos);
  for (int64_t head : {-1, 3}) {
    request.head = head;
    Answer plot(skewer_plot(&request), &skewer_answer_free), report(skewer_report(&request), &skewer_answer_free);
    for (const Answer *answer : {&plot, &report}) {
      EXPECT_EQ(skewer_answer_status(answer->get()), head < 0 ? SKEWER_ANSWER_BAD_REQUEST : SKEWER_ANSWER_WRONG);
      EXPECT_STREQ(skewer_answer_text(answer->get()), "");
      EXPECT_EQ(skewer_answer_diagnostic_count(answer->get()), 1u);
    }
  }
}

/// Objects that hold code for GPUs find the launcher in the library, and the launcher says that there is no driver.
TEST(Library, EntriesForGpusAreLoaded) {
  for (const char *target : {"x86-64-v2,sm_80", "sm_80"}) {
    skewer_request request = requestOf(kLayer);
    request.target = target;
    Answer answer = compiled(request);
    ASSERT_EQ(skewer_answer_status(answer.get()), SKEWER_ANSWER_DONE) << skewer_answer_messages(answer.get());
    std::string object = fileOf(answer, "tiny.o");
    const void *image = object.data();
    size_t bytes = object.size();
    skewer_loaded *loaded = nullptr;
    Answer linked(skewer_load("tiny", &image, &bytes, 1, &loaded), &skewer_answer_free);
    ASSERT_TRUE(loaded) << skewer_answer_messages(linked.get());
    EXPECT_EQ(skewer_loaded_symbol(loaded, "") != nullptr, target[0] == 'x');
    auto call = reinterpret_cast<int32_t (*)(const void *, const void *)>(skewer_loaded_symbol(loaded, "_cuda"));
    ASSERT_TRUE(call);
    EXPECT_TRUE(skewer_loaded_symbol(loaded, "_cuda_workspace_bytes"));
    EXPECT_EQ(call(nullptr, nullptr), 1); // SKEWER_NULL_ARGS
    EXPECT_STREQ(skewer_loaded_gpu_error(), "tiny: args is null");
    skewer_unload(loaded);
  }
}

TEST(Library, BadRequestsAreStatuses) {
  auto statusOf = [](const skewer_request *request) {
    Answer answer(skewer_compile(request), &skewer_answer_free);
    EXPECT_GE(skewer_answer_diagnostic_count(answer.get()), 1u);
    return skewer_answer_status(answer.get());
  };
  EXPECT_EQ(printedBy([&] {
              EXPECT_EQ(statusOf(nullptr), SKEWER_ANSWER_BAD_REQUEST);
              skewer_request request = skewer_request_init();
              EXPECT_EQ(statusOf(&request), SKEWER_ANSWER_BAD_REQUEST); // neither path nor text
              request = requestOf(kLayer);
              request.version = 7;
              EXPECT_EQ(statusOf(&request), SKEWER_ANSWER_BAD_REQUEST);
              request = requestOf(kLayer);
              request.parameter_count = 1; // with a null array
              EXPECT_EQ(statusOf(&request), SKEWER_ANSWER_BAD_REQUEST);
              for (const char *parameter : {"N", "N=", "N=eight", "=8"}) {
                request = requestOf(kLayer);
                request.parameters = &parameter;
                request.parameter_count = 1;
                EXPECT_EQ(statusOf(&request), SKEWER_ANSWER_USAGE) << parameter;
              }
              request = requestOf(kLayer);
              request.target = "pentium-0";
              EXPECT_EQ(statusOf(&request), SKEWER_ANSWER_USAGE);
              request.target = "";
              EXPECT_NE(statusOf(&request), SKEWER_ANSWER_DONE);
              request = requestOf(kLayer);
              request.emit = "obj,pictures";
              EXPECT_EQ(statusOf(&request), SKEWER_ANSWER_USAGE);
              request = requestOf(nullptr);
              request.path = "/nowhere/at/all.attn";
              EXPECT_EQ(statusOf(&request), SKEWER_ANSWER_WRONG);
              for (const char *text : {"", "\x01\x02", "kernel", "kernel f(", "{{{{", "param N = 1"}) {
                request = requestOf(text);
                EXPECT_EQ(statusOf(&request), SKEWER_ANSWER_WRONG) << text;
              }
            }),
            "");
  EXPECT_EQ(skewer_answer_status(nullptr), SKEWER_ANSWER_BAD_REQUEST);
  skewer_answer_free(nullptr);
}

TEST(Library, ThreadsCompileAtOnce) {
  Answer alone = compiled(requestOf(kLayer));
  std::string object = fileOf(alone, "tiny.o");
  std::vector<std::string> objects(4), messages(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < objects.size(); ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 3; ++round) {
        // Half of them fail, each with a message of its own.
        std::string bad = "kernel f(q : f32[4]) -> f32[4] { return missing" + std::to_string(t) + " }";
        Answer answer = compiled(requestOf(t % 2 ? bad.c_str() : kLayer));
        objects[t] = fileOf(answer, "tiny.o");
        messages[t] = skewer_answer_messages(answer.get());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t t = 0; t < objects.size(); ++t)
    if (t % 2)
      EXPECT_NE(messages[t].find("missing" + std::to_string(t)), std::string::npos) << messages[t];
    else
      EXPECT_TRUE(objects[t] == object && messages[t].empty()) << messages[t];
}

TEST(Library, LoadsAndCalls) {
  Answer answer = compiled(requestOf(kLayer));
  std::string object = fileOf(answer, "tiny.o");
  const void *bytes = object.data();
  size_t size = object.size();
  skewer_loaded *loaded = nullptr;
  Answer load(skewer_load("tiny", &bytes, &size, 1, &loaded), &skewer_answer_free);
  ASSERT_TRUE(loaded) << skewer_answer_messages(load.get());
  auto entry = reinterpret_cast<Entry>(skewer_loaded_symbol(loaded, ""));
  auto workspace = reinterpret_cast<Workspace>(skewer_loaded_symbol(loaded, "_workspace_bytes"));
  expectRight(entry, workspace);
  skewer_team *team = skewer_team_create(3);
  expectRight(entry, workspace, team, 3);
  skewer_team_free(team);
  EXPECT_EQ(skewer_loaded_symbol(loaded, "_nothing"), nullptr);
  EXPECT_EQ(skewer_loaded_symbol(loaded, nullptr), nullptr);
  skewer_unload(loaded);
  skewer_unload(nullptr);
  EXPECT_EQ(skewer_team_create(0), nullptr);
}

TEST(Library, LoadsSeveralProcessors) {
  skewer_request request = requestOf(kLayer);
  request.target = "x86-64-v2,x86-64-v3";
  Answer answer = compiled(request);
  std::vector<std::string> objects = {fileOf(answer, "tiny.o"), fileOf(answer, "tiny.x86-64-v2.o"),
                                      fileOf(answer, "tiny.x86-64-v3.o")};
  std::vector<const void *> bytes;
  std::vector<size_t> sizes;
  for (const std::string &object : objects)
    bytes.push_back(object.data()), sizes.push_back(object.size());
  skewer_loaded *loaded = nullptr;
  Answer load(skewer_load("tiny", bytes.data(), sizes.data(), 3, &loaded), &skewer_answer_free);
  ASSERT_TRUE(loaded) << skewer_answer_messages(load.get());
  expectRight(reinterpret_cast<Entry>(skewer_loaded_symbol(loaded, "")),
              reinterpret_cast<Workspace>(skewer_loaded_symbol(loaded, "_workspace_bytes")));
  skewer_unload(loaded);
}

TEST(Library, RefusesWhatIsNoObject) {
  Answer answer = compiled(requestOf(kLayer));
  std::string object = fileOf(answer, "tiny.o");
  std::vector<std::string> bad = {"", "no object", std::string(1000, '\0'), object.substr(0, 63)};
  for (size_t part = 1; part < 8; ++part)
    bad.push_back(object.substr(0, object.size() * part / 8));
  auto expectRefused = [](const std::string &bytes, const char *kernel) {
    const void *data = bytes.data();
    size_t size = bytes.size();
    skewer_loaded *loaded = nullptr;
    Answer load(skewer_load(kernel, &data, &size, 1, &loaded), &skewer_answer_free);
    EXPECT_EQ(skewer_answer_status(load.get()), SKEWER_ANSWER_WRONG) << size;
    EXPECT_EQ(loaded, nullptr);
    EXPECT_GE(skewer_answer_diagnostic_count(load.get()), 1u);
  };
  EXPECT_EQ(printedBy([&] {
              for (const std::string &bytes : bad)
                expectRefused(bytes, "tiny");
              expectRefused(object, "another");
              Answer load(skewer_load("tiny", nullptr, nullptr, 1, nullptr), &skewer_answer_free);
              EXPECT_EQ(skewer_answer_status(load.get()), SKEWER_ANSWER_BAD_REQUEST);
            }),
            "");
}

TEST(Library, SharedObjectsLoadWithTheSystemsLoader) {
  skewer_request request = requestOf(kLayer);
  request.emit = "shared";
  request.target = "x86-64-v2,x86-64-v3";
  Answer answer = compiled(request);
  ASSERT_EQ(skewer_answer_status(answer.get()), SKEWER_ANSWER_DONE) << skewer_answer_messages(answer.get());
  std::string path = testing::TempDir() + "tiny-" + std::to_string(getpid()) + ".so";
  std::ofstream(path) << fileOf(answer, "tiny.so");
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  unlink(path.c_str());
  ASSERT_TRUE(library) << dlerror();
  expectRight(reinterpret_cast<Entry>(dlsym(library, "tiny")),
              reinterpret_cast<Workspace>(dlsym(library, "tiny_workspace_bytes")));
  dlclose(library);
}

/// Returns operands of `tiny` for a batch of two, in the library's form.
struct Operands {
  std::vector<float> q, k, v;
  int64_t shape[3] = {2, 8, 4};
  Operands() : q(64), k(64), v(64) {
    for (int n = 0; n < 64; ++n)
      q[n] = float(n % 7) / 3 - 1, k[n] = float(n % 5) / 2 - 1, v[n] = float(n % 11) / 4 - 1;
  }
  std::vector<skewer_tensor> tensors() const { return {{q.data(), shape, 3}, {k.data(), shape, 3}, {v.data(), shape, 3}}; }
  /// Computes the layer by explicit loops.
  std::vector<double> results() const {
    std::vector<double> all;
    for (int b = 0; b < 2; ++b)
      for (int i = 0; i < 8; ++i) {
        double weights[8], sum = 0;
        for (int j = 0; j < 8; ++j) {
          double score = 0;
          for (int d = 0; d < 4; ++d)
            score += double(q[b * 32 + i * 4 + d]) * double(k[b * 32 + j * 4 + d]) * 0.5;
          sum += weights[j] = std::exp(score);
        }
        for (int d = 0; d < 4; ++d) {
          double value = 0;
          for (int j = 0; j < 8; ++j)
            value += weights[j] / sum * double(v[b * 32 + j * 4 + d]);
          all.push_back(value);
        }
      }
    return all;
  }
};

TEST(Library, TheReferenceIsTheLayersDefinition) {
  Operands operands;
  std::vector<skewer_tensor> tensors = operands.tensors();
  skewer_request request = requestOf(kLayer);
  Answer answer(skewer_reference(&request, tensors.data(), tensors.size(), nullptr), &skewer_answer_free);
  ASSERT_EQ(skewer_answer_status(answer.get()), SKEWER_ANSWER_DONE) << skewer_answer_messages(answer.get());
  std::string file = fileOf(answer, "out.npy");
  std::vector<double> expected = operands.results(), found(expected.size());
  ASSERT_GE(file.size(), expected.size() * sizeof(double));
  ASSERT_NE(file.find("'<f8'"), std::string::npos);
  std::memcpy(found.data(), file.data() + file.size() - found.size() * sizeof(double), found.size() * sizeof(double));
  for (size_t n = 0; n < found.size(); ++n)
    EXPECT_NEAR(found[n], expected[n], 1e-12) << n;
}

TEST(Library, ChecksResults) {
  Operands operands;
  std::vector<skewer_tensor> tensors = operands.tensors();
  std::vector<double> exact = operands.results();
  std::vector<float> out(exact.begin(), exact.end());
  skewer_tensor result = {out.data(), operands.shape, 3};
  skewer_request request = requestOf(kLayer);
  auto check = [&] {
    Answer answer(skewer_check(&request, tensors.data(), tensors.size(), nullptr, &result, 1, 0), &skewer_answer_free);
    EXPECT_EQ(skewer_answer_status(answer.get()), SKEWER_ANSWER_DONE) << skewer_answer_messages(answer.get());
    return std::string(skewer_answer_text(answer.get()));
  };
  auto number = [](const std::string &json, const std::string &field) {
    size_t at = json.find("\"" + field + "\":");
    return at == std::string::npos ? -1.0 : std::stod(json.substr(at + field.size() + 3));
  };
  std::string right = check();
  EXPECT_EQ(number(right, "rows"), 16) << right;
  EXPECT_GT(number(right, "tolerance"), 0) << right;
  EXPECT_LE(number(right, "error"), 1e-7) << right;
  out[37] += 0.25f;
  std::string wrong = check();
  EXPECT_GT(number(wrong, "error"), 0.05) << wrong;
  EXPECT_NE(wrong.find("[1, 1, 1]"), std::string::npos) << wrong; // element 37
}

TEST(Library, OperandsThatDoNotFitAreStatuses) {
  Operands operands;
  std::vector<skewer_tensor> tensors = operands.tensors();
  skewer_request request = requestOf(kLayer);
  auto status = [&](size_t count, const char *text) {
    Answer answer(skewer_reference(&request, tensors.data(), count, nullptr), &skewer_answer_free);
    EXPECT_NE(std::string(skewer_answer_messages(answer.get())).find(text), std::string::npos)
        << skewer_answer_messages(answer.get());
    return skewer_answer_status(answer.get());
  };
  EXPECT_EQ(status(2, "expected 3 operands, found 2"), SKEWER_ANSWER_WRONG);
  int64_t shorter[3] = {2, 7, 4};
  tensors[1].shape = shorter;
  EXPECT_EQ(status(3, "'k': expected shape [batch, 8, 4], found [2, 7, 4]"), SKEWER_ANSWER_WRONG);
  tensors[1].rank = 2;
  EXPECT_EQ(status(3, "'k': expected shape [batch, 8, 4], found [2, 7]"), SKEWER_ANSWER_WRONG);
  tensors[1].data = nullptr;
  EXPECT_EQ(status(3, "tensor number 1 has a null pointer"), SKEWER_ANSWER_BAD_REQUEST);
}

TEST(Library, ListsSchemes) {
  Answer json(skewer_schemes(nullptr, 1), &skewer_answer_free), one(skewer_schemes("rel1d", 0), &skewer_answer_free),
      none(skewer_schemes("rel1", 0), &skewer_answer_free);
  EXPECT_NE(std::string(skewer_answer_text(json.get())).find("\"name\": \"rel1d\""), std::string::npos);
  EXPECT_NE(std::string(skewer_answer_text(one.get())).find("scheme rel1d("), std::string::npos);
  EXPECT_EQ(skewer_answer_status(none.get()), SKEWER_ANSWER_WRONG);
}

TEST(Library, ExplainsAndPlots) {
  skewer_request request = requestOf(kLayer);
  Answer text(skewer_explain(&request, 0), &skewer_answer_free);
  EXPECT_EQ(skewer_answer_status(text.get()), SKEWER_ANSWER_DONE) << skewer_answer_messages(text.get());
  EXPECT_NE(std::string(skewer_answer_text(text.get())).find("content"), std::string::npos);
  Answer json(skewer_explain(&request, 1), &skewer_answer_free);
  EXPECT_EQ(skewer_answer_text(json.get())[0], '{');
  Answer plot(skewer_plot(&request), &skewer_answer_free);
  EXPECT_NE(std::string(skewer_answer_text(plot.get())).find("<svg"), std::string::npos) << skewer_answer_messages(plot.get());
  request.kernel = "other";
  EXPECT_EQ(printedBy([&] {
              Answer wrong(skewer_explain(&request, 0), &skewer_answer_free);
              EXPECT_EQ(skewer_answer_status(wrong.get()), SKEWER_ANSWER_WRONG);
              EXPECT_STREQ(skewer_answer_text(wrong.get()), "");
            }),
            "");
}

} // namespace
