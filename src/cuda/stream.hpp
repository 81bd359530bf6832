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
  /// Waits until its work is done; throws the error of work that failed.
  void wait() const { check(cudaStreamSynchronize(get()), "finish the work of a stream"); }

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const { static_cast<void>(cudaStreamDestroy(stream)); }
  };
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy> stream_;
};

/// A CUDA event. A host thread that waits for it sleeps.
class Event {
 public:
  Event() {
    cudaEvent_t raw = nullptr;
    check(cudaEventCreateWithFlags(&raw, cudaEventBlockingSync | cudaEventDisableTiming),
          "create an event");
    event_.reset(raw);
  }

  /// Records the current end of `stream`.
  void record(const Stream& stream) {
    check(cudaEventRecord(event_.get(), stream.get()), "record an event");
  }
  /// Waits on the host; returns immediately when the event was never recorded.
  void wait() const { check(cudaEventSynchronize(event_.get()), "wait for an event"); }
  /// Whether the event has completed or was never recorded; does not wait.
  bool has_passed() const {
    const cudaError_t status = cudaEventQuery(event_.get());
    if (status == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // clear it, or the next launch reports it
      return false;
    }
    check(status, "query an event");
    return true;
  }
  /// Later work in `stream` waits for the event.
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
