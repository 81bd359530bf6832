#pragma once

#include <exception>
#include <string>
#include <utility>

#include "bulksim/core/error.hpp"
#include "comm/communicator.hpp"

namespace bulksim {

/// An error that every rank knows of: all end in an orderly way, and rank 0 speaks.
class CollectiveError : public Error {
 public:
  using Error::Error;
};

/// The error that an exception of any kind stands for: 71 where memory or threads could not be had,
/// 70 for what nobody has foreseen.
Error error_of(const std::exception& failure);

/// Exchanges the outcome of a step; throws the CollectiveError of the lowest rank that failed.
void agree(Communicator& comm, const Error* failure);

/// Runs `step` on every rank and lets all go on, or all fail with the same CollectiveError.
template <class Step>
void run_collectively(Communicator& comm, Step&& step) {
  try {
    step();
  } catch (const CollectiveError&) {
    throw;  // a collective inside the step has told everybody already
  } catch (const std::exception& failure) {
    const Error error = error_of(failure);
    agree(comm, &error);
  }
  agree(comm, nullptr);
}

}  // namespace bulksim
