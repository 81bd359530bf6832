#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files/forwarding_calls.hpp"
#include "storage/result/similarity_file.hpp"
#include "support/durable_run.hpp"
#include "support/storage_support.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::TemporaryFolder;

const TileGrid kGrid({3, 20}, {4, 8});

void compute_version(FileCalls& calls, const std::string& output) {
  test::DurableRun{calls, kGrid, 2}.compute_version(output);
}

void compute_file(FileCalls& calls, const std::string& output) {
  test::DurableRun{calls, kGrid, 2}.compute_file(output);
}

enum class Fault {
  kBefore,
  kAfterSuccess
};  // kAfterSuccess: as when a file server replays a request

/// Makes the `at`-th call fail, and counts all calls. Does not sync, so that runs are short.
class FailingCalls final : public ForwardingCalls {
 public:
  FailingCalls(int at, Fault fault) : at_(at), fault_(fault) {}
  int count() const { return count_; }

  int open(const char* path, int flags, mode_t mode) override {
    return failing([&] { return ForwardingCalls::open(path, flags, mode); });
  }
  int close(int fd) override {
    return failing([&] { return ForwardingCalls::close(fd); });
  }
  ssize_t pread(int fd, void* to, std::size_t bytes, off_t at) override {
    return failing([&] { return ForwardingCalls::pread(fd, to, bytes, at); });
  }
  ssize_t pwrite(int fd, const void* from, std::size_t bytes, off_t at) override {
    return failing([&] { return ForwardingCalls::pwrite(fd, from, bytes, at); });
  }
  int fsync(int) override {
    return failing([] { return 0; });
  }
  int fdatasync(int) override {
    return failing([] { return 0; });
  }
  int fallocate(int fd, off_t at, off_t bytes) override {
    return failing([&] { return ForwardingCalls::fallocate(fd, at, bytes); });
  }
  int fstat(int fd, struct stat* out) override {
    return failing([&] { return ForwardingCalls::fstat(fd, out); });
  }
  int lstat(const char* path, struct stat* out) override {
    return failing([&] { return ForwardingCalls::lstat(path, out); });
  }
  int mkdir(const char* path, mode_t mode) override {
    return failing([&] { return ForwardingCalls::mkdir(path, mode); });
  }
  int rmdir(const char* path) override {
    return failing([&] { return ForwardingCalls::rmdir(path); });
  }
  int unlink(const char* path) override {
    return failing([&] { return ForwardingCalls::unlink(path); });
  }
  int link(const char* from, const char* to) override {
    return failing([&] { return ForwardingCalls::link(from, to); });
  }
  int rename(const char* from, const char* to) override {
    return failing([&] { return ForwardingCalls::rename(from, to); });
  }
  int symlink(const char* target, const char* path) override {
    return failing([&] { return ForwardingCalls::symlink(target, path); });
  }
  int chmod(const char* path, mode_t mode) override {
    return failing([&] { return ForwardingCalls::chmod(path, mode); });
  }
  std::vector<std::string> list(const char* path) override {
    std::vector<std::string> names = ForwardingCalls::list(path);
    return failing([] { return 0; }) == 0 ? names : std::vector<std::string>{};
  }
  std::int64_t free_bytes(const char* path) override {
    return failing([&] { return ForwardingCalls::free_bytes(path); });
  }

 private:
  template <class Call>
  auto failing(Call call) -> decltype(call()) {
    const bool fails = ++count_ == at_;
    if (!fails) return call();
    if (fault_ == Fault::kAfterSuccess) call();
    errno = EIO;
    return -1;
  }

  int at_;
  Fault fault_;
  int count_ = 0;
};

/// An output form: where a run writes its result, and how to compute it.
struct FormCase {
  std::string name;
  std::string output;
  void (*compute)(FileCalls& calls, const std::string& output);
};

void PrintTo(const FormCase& form, std::ostream* out) {
  *out << form.name;
}

bool published(const std::string& output) {
  return exists(system_file_calls(), output.ends_with(".h5") ? output : output + "/CURRENT");
}

bool holds_the_matrix(const std::string& output) {
  return SimilarityReader::open(system_file_calls(), output).read({0, 3}, {0, 20}) ==
         test::matrix_values(kGrid);
}

class AnySingleFault : public testing::TestWithParam<std::tuple<FormCase, Fault>> {
 protected:
  /// Thousands of small files are written to memory where possible.
  static void SetUpTestSuite() {
    if (access("/dev/shm", W_OK) == 0) setenv("TEST_TMPDIR", "/dev/shm", 0);
  }
};

TEST_P(AnySingleFault, NeverPublishesAWrongResultAndTheSameCommandRecovers) {
  const auto& [form, fault] = GetParam();
  int calls = 1;
  int errors = 0;
  for (int at = 1; at <= calls; ++at) {
    SCOPED_TRACE("call " + std::to_string(at));
    const TemporaryFolder folder;
    const std::string output = folder / form.output;
    FailingCalls failing(at, fault);
    FailingCalls working(0, fault);

    try {
      form.compute(failing, output);
      ASSERT_TRUE(published(output));
    } catch (const Error&) {
      ++errors;
    }

    if (published(output)) {
      ASSERT_TRUE(holds_the_matrix(output));
    }
    form.compute(working, output);
    calls = std::max(calls, working.count());
    ASSERT_TRUE(holds_the_matrix(output));
  }
  EXPECT_GT(calls, 50);
  EXPECT_GT(errors, calls / 2);
}

INSTANTIATE_TEST_SUITE_P(
    OfEveryCall, AnySingleFault,
    testing::Combine(testing::Values(FormCase{"versions", "out", compute_version},
                                     FormCase{"single_file", "result.h5", compute_file}),
                     testing::Values(Fault::kBefore, Fault::kAfterSuccess)),
    [](const auto& test) {
      return std::get<0>(test.param).name +
             (std::get<1>(test.param) == Fault::kBefore ? "_before" : "_after_success");
    });

}  // namespace
}  // namespace bulksim
