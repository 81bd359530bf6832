#include "backend/cpu/kernel_benchmark.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "backend/cpu/cpu_kernel.hpp"
#include "backend/rows/aligned_buffer.hpp"
#include "backend/rows/item_blocks.hpp"
#include "backend/rows/labelled_rows.hpp"
#include "bulksim/core/checksum.hpp"
#include "core/run/phase_timer.hpp"
#include "sparse/vocabulary.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kRowsAtOnce = 32;       // 256 KiB of results, which stay in the L2 cache
constexpr std::size_t kStoreValues = 1 << 24;  // 64 MiB: larger than an L2 cache

enum class Hashing { kOff, kOn };

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Runs `work` on each thread; returns the seconds until the last one has ended.
double timed(int threads, const std::function<void(int)>& work) {
  const Stopwatch watch;
  {
    std::vector<std::jthread> running;
    for (int thread = 1; thread < threads; ++thread)
      running.emplace_back(work, thread);
    work(0);
  }
  return watch.seconds();
}

class Benchmark {
 public:
  Benchmark(const QuantizedRows& queries, const QuantizedRows& items,
            const KernelBenchmarkOptions& options)
      : options_(options),
        kernel_(CpuKernel::choose(options.simd)),
        vocabulary_(queries),
        blocks_(divide_up(items.rows(), BlockLayout().items)),
        threads_(options.threads) {
    queries_.assign(queries, {0, queries.rows()}, vocabulary_);
    items_.assign(items, {0, items.rows()}, vocabulary_);
    for (Thread& thread : threads_) {
      thread.scratch.require(BlockLayout().items, queries_.longest());
      thread.out.require(kRowsAtOnce * BlockLayout().items);
      thread.partials.require(kRowsAtOnce * kSegments);
      thread.stream.require(kStoreValues);
      std::fill_n(thread.stream.data(), kStoreValues, 0.0f);  // the first touch is slow
    }
    build_seconds_ = build();
  }

  KernelRates run() {
    KernelRates rates;
    rates.simd = kernel_.name();
    rates.multiply_adds = multiply_adds();
    rates.build_seconds = build_seconds_;
    std::vector<double> summed;
    std::vector<double> hashed;
    std::vector<double> stores;
    multiply(Partials::kOff, Hashing::kOff);  // warm-up
    for (int repeat = 0; repeat < options_.repeats; ++repeat) {
      rates.pairs_per_s.push_back(pairs() / multiply(Partials::kOff, Hashing::kOff));
      if (options_.softmax_scale) {
        summed.push_back(pairs() / multiply(Partials::kOn, Hashing::kOff));
      }
      hashed.push_back(pairs() / multiply(Partials::kOff, Hashing::kOn));
      stores.push_back(static_cast<double>(kStoreValues * threads_.size()) / store());
    }
    rates.median_pairs_per_s = median(rates.pairs_per_s);
    if (options_.softmax_scale) rates.summed_pairs_per_s = median(summed);
    rates.hashed_pairs_per_s = median(hashed);
    rates.store_limit_pairs_per_s = median(stores);
    rates.failed_identities = failed_;
    return rates;
  }

 private:
  struct Thread {
    KernelScratch scratch;
    AlignedBuffer<float> out;
    AlignedBuffer<float> stream;
    AlignedBuffer<SoftmaxPartial> partials;
    Hasher hasher;
  };

  double pairs() const {
    return static_cast<double>(queries_.rows()) * static_cast<double>(items_.rows());
  }

  double build() {
    const BlockLayout layout{.lanes = kernel_.lanes()};
    std::atomic<std::size_t> next = 0;
    return timed(options_.threads, [&](int) {
      for (std::size_t block = next++; block < blocks_.size(); block = next++) {
        const std::int64_t begin = static_cast<std::int64_t>(block) * layout.items;
        const std::int64_t end = std::min(begin + layout.items, items_.rows());
        blocks_[block].build(items_, {begin, end}, vocabulary_.size(), layout);
      }
    });
  }

  double multiply(Partials partials, Hashing hashing) {
    std::atomic<std::size_t> next = 0;
    return timed(options_.threads, [&](int number) {
      Thread& thread = threads_[number];
      for (std::size_t block = next++; block < blocks_.size(); block = next++) {
        failed_ += multiply_block(blocks_[block], partials, hashing, thread);
      }
    });
  }

  std::int64_t multiply_block(const ItemBlock& block, Partials partials, Hashing hashing,
                              Thread& thread) {
    const BlockFunction kernel = kernel_.function(
        options_.arithmetic, common_signs(queries_, items_), Identities::kRows, partials);
    BlockTask task;
    task.queries = &queries_;
    task.block = &block;
    task.out = thread.out.data();
    task.out_stride = block.items();
    task.partials = thread.partials.data();
    task.partial_stride = kSegments;
    task.exp_scale = exp_scale(options_.softmax_scale.value_or(kLeastSoftmaxScale));
    task.scratch = &thread.scratch;
    std::int64_t failed = 0;
    for (std::int64_t row = 0; row < queries_.rows(); row += kRowsAtOnce) {
      task.rows = {row, std::min(row + kRowsAtOnce, queries_.rows())};
      failed += kernel(task);
      if (hashing == Hashing::kOff) continue;
      const std::size_t values = task.rows.size() * block.items();
      thread.hasher.update(std::as_bytes(std::span(thread.out.data(), values)));
    }
    return failed;
  }

  double store() {
    return timed(options_.threads, [&](int number) {
      Thread& thread = threads_[number];
      kernel_.stream(thread.stream.data(), kStoreValues);
    });
  }

  std::int64_t multiply_adds() const {
    std::vector<std::int64_t> frequency(vocabulary_.size());
    for (const LabelledEntry& entry : queries_.entries({0, queries_.rows()})) {
      ++frequency[entry.label];
    }
    std::int64_t sum = 0;
    for (const LabelledEntry& entry : items_.entries({0, items_.rows()})) {
      sum += frequency[entry.label];
    }
    return sum;
  }

  KernelBenchmarkOptions options_;
  CpuKernel kernel_;
  Vocabulary vocabulary_;
  LabelledRows queries_;
  LabelledRows items_;
  std::vector<ItemBlock> blocks_;
  std::vector<Thread> threads_;
  double build_seconds_ = 0.0;
  std::atomic<std::int64_t> failed_ = 0;
};

}  // namespace

KernelRates benchmark_kernel(const QuantizedRows& queries, const QuantizedRows& items,
                             const KernelBenchmarkOptions& options) {
  return Benchmark(queries, items, options).run();
}

}  // namespace bulksim
