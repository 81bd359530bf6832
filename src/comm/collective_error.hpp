#pragma once

#include <exception>
#include <string>
#include <utility>

#include "bulksim/core/error.hpp"
#include "comm/communicator.hpp"

namespace bulksim {

/// An error that every rank has thrown: all ranks exit in an orderly way, and rank 0 reports it.
class CollectiveError : public Error {
 public:
  using Error::Error;
};

/// The Error for any exception: 71 when memory or threads are not available, 70 for an unexpected
/// exception.
Error error_of(const std::exception& failure);

/// Exchanges the results of a step; throws the CollectiveError of the lowest rank that failed.
void agree(Communicator& comm, const Error* failure);

/// Runs `step` on every rank. Returns on all ranks, or throws the same CollectiveError on all.
template <class Step>
void run_collectively(Communicator& comm, Step&& step) {
  try {
    step();
  } catch (const CollectiveError&) {
    throw;  // all ranks have thrown it already, in a collective inside the step
  } catch (const std::exception& failure) {
    const Error error = error_of(failure);
    agree(comm, &error);
  }
  agree(comm, nullptr);
}

}  // namespace bulksim
