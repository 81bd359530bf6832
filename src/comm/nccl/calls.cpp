#include "comm/nccl/calls.hpp"

#include <string>

#include <dlfcn.h>

#include "bulksim/core/error.hpp"

namespace bulksim::nccl {

namespace {

constexpr char kLibrary[] = "libnccl.so.2";

Error unavailable() {
  const char* reason = dlerror();
  return Error(ExitCode::kUnavailable, std::string("cannot load '") + kLibrary +
                                           "': " + (reason == nullptr ? "unknown" : reason));
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  void* const symbol = dlsym(library, name);
  if (symbol == nullptr) throw unavailable();
  function = reinterpret_cast<Function>(symbol);
}

}  // namespace

Calls load_library() {
  // stays loaded as long as the process: it has threads of its own
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw unavailable();
  Calls calls{};
  find(library, "ncclGetVersion", calls.version);
  find(library, "ncclGetUniqueId", calls.make_identity);
  find(library, "ncclCommInitRankConfig", calls.init);
  find(library, "ncclCommGetAsyncError", calls.state);
  find(library, "ncclCommFinalize", calls.finalize);
  find(library, "ncclCommDestroy", calls.destroy);
  find(library, "ncclCommAbort", calls.abort);
  find(library, "ncclAllReduce", calls.all_reduce);
  find(library, "ncclBroadcast", calls.broadcast);
  find(library, "ncclSend", calls.send);
  find(library, "ncclRecv", calls.receive);
  find(library, "ncclGetErrorString", calls.error_text);
  return calls;
}

}  // namespace bulksim::nccl
