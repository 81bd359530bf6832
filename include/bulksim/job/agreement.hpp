#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "bulksim/comm/communicator.hpp"
#include "bulksim/core/error.hpp"

namespace bulksim {

/// An error that every rank knows of: all end in an orderly way, and rank 0 speaks.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// Exchanges the outcome of a step; throws the AgreedError of the lowest rank that failed.
void agree(Communicator& comm, const Error* failure);

/// Runs `step` on every rank and lets all go on, or all fail with the same AgreedError.
template <class Step>
void together(Communicator& comm, Step&& step) {
  try {
    step();
  } catch (const AgreedError&) {
    throw;  // a collective inside the step has told everybody already
  } catch (const Error& error) {
    agree(comm, &error);
  } catch (const std::bad_alloc&) {
    const Error error(ExitCode::kMemory, "there is not enough memory");
    agree(comm, &error);
  } catch (const std::exception& unexpected) {
    const Error error(ExitCode::kSoftware, unexpected.what());
    agree(comm, &error);
  }
  agree(comm, nullptr);
}

}  // namespace bulksim
