#pragma once

#include <memory>
#include <type_traits>

#include "cuda/check.hpp"

namespace bulksim::cuda {

/// A queue of work on the device, independent of the default stream.
class Stream {
 public:
  Stream() {
    cudaStream_t raw = nullptr;
    check(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking), "create a stream");
    stream_.reset(raw);
  }

  cudaStream_t get() const { return stream_.get(); }
  /// Waits until its work is done, and says what went wrong with it.
  void wait() const { check(cudaStreamSynchronize(get()), "finish the work of a stream"); }

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const { static_cast<void>(cudaStreamDestroy(stream)); }
  };
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy> stream_;
};

/// A mark in the work of a stream. A host thread that waits for it sleeps.
class Event {
 public:
  Event() {
    cudaEvent_t raw = nullptr;
    check(cudaEventCreateWithFlags(&raw, cudaEventBlockingSync | cudaEventDisableTiming),
          "create an event");
    event_.reset(raw);
  }

  /// Marks the end of what is in `stream` now.
  void record(const Stream& stream) {
    check(cudaEventRecord(event_.get(), stream.get()), "record an event");
  }
  /// The host waits for the mark; at once when there is none yet.
  void wait() const { check(cudaEventSynchronize(event_.get()), "wait for an event"); }
  /// Whether the mark was passed, or there is none; does not wait.
  bool has_passed() const {
    const cudaError_t status = cudaEventQuery(event_.get());
    if (status == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // no error: not to be found by the next launch
      return false;
    }
    check(status, "look at an event");
    return true;
  }
  /// Work put into `stream` from now on waits for the mark.
  void hold(const Stream& stream) const {
    check(cudaStreamWaitEvent(stream.get(), event_.get(), 0), "make a stream wait");
  }

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const { static_cast<void>(cudaEventDestroy(event)); }
  };
  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy> event_;
};

}  // namespace bulksim::cuda
