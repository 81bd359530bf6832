#include "comm/nccl/calls.hpp"

#include "core/run/shared_library.hpp"

namespace bulksim::nccl {

Calls load_library() {
  const SharedLibrary library("libnccl.so.2");
  Calls calls{};
  library.find("ncclGetVersion", calls.version);
  library.find("ncclGetUniqueId", calls.make_identity);
  library.find("ncclCommInitRankConfig", calls.init);
  library.find("ncclCommGetAsyncError", calls.state);
  library.find("ncclCommFinalize", calls.finalize);
  library.find("ncclCommDestroy", calls.destroy);
  library.find("ncclCommAbort", calls.abort);
  library.find("ncclAllReduce", calls.all_reduce);
  library.find("ncclBroadcast", calls.broadcast);
  library.find("ncclSend", calls.send);
  library.find("ncclRecv", calls.receive);
  library.find("ncclGetErrorString", calls.error_text);
  return calls;
}

}  // namespace bulksim::nccl
