#pragma once

#include <exception>
#include <string>
#include <utility>

#include "bulksim/core/error.hpp"
#include "comm/communicator.hpp"

namespace bulksim {

/// An error that every rank knows of: all end in an orderly way, and rank 0 speaks.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// The error that an exception of any kind stands for: 71 where memory or threads could not be had,
/// 70 for what nobody has foreseen.
Error error_of(const std::exception& failure);

/// Exchanges the outcome of a step; throws the AgreedError of the lowest rank that failed.
void agree(Communicator& comm, const Error* failure);

/// Runs `step` on every rank and lets all go on, or all fail with the same AgreedError.
template <class Step>
void together(Communicator& comm, Step&& step) {
  try {
    step();
  } catch (const AgreedError&) {
    throw;  // a collective inside the step has told everybody already
  } catch (const std::exception& failure) {
    const Error error = error_of(failure);
    agree(comm, &error);
  }
  agree(comm, nullptr);
}

}  // namespace bulksim
