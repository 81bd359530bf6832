#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "bulksim/core/tile_grid.hpp"

namespace bulksim {

/// Kinds of work with a deadline.
enum class Activity {
  kInit,        ///< connecting to the other ranks
  kRead,        ///< a call that reads a file
  kTile,        ///< one tile, without file calls inside it
  kWrite,       ///< a call that changes a file
  kCollective,  ///< one poll of a message between ranks
};

/// Seconds after which work counts as stuck.
struct Deadlines {
  double init = 180.0;
  double read = 300.0;
  double tile = 120.0;
  double write = 300.0;
  double collective = 120.0;

  double of(Activity activity) const;
};

/// The current work of a thread. The strings must outlive it.
struct Work {
  Activity activity = Activity::kTile;
  const char* call = "";       ///< "pwrite"
  std::string_view path = {};  ///< of the file, or empty
  int descriptor = -1;         ///< of the file, when there is no path
  std::optional<TileId> tile = std::nullopt;
};

/// Where a rank is, for error messages.
struct Location {
  std::string phase;  ///< "compute"
  std::string work;   ///< "pwrite '../part-00003.h5'", "the tile in row 3, column 4"
  std::optional<TileId> tile;
};

/// Ends the process when it is stuck: when a file call or a tile exceeds its deadline, or when no
/// operation completes while the main thread is not in one. Of nested work only the innermost is
/// watched; the deadline of the outer work restarts when the inner ends.
///
/// Time in which the whole process is suspended does not count. A second thread ends the process
/// when the watchdog thread itself is stuck.
class Watchdog {
 public:
  /// Called on expiry, on another thread and while the work is still stuck. If they return or take
  /// more than 5 s, the process exits with 69.
  struct ExpiryHandlers {
    std::function<void(const std::string& sentence, const Location& where)> report;
    std::function<void()> end;
  };

  /// Watches the constructing thread as the main thread, and the work of any thread that has a
  /// Watch.
  Watchdog(const Deadlines& deadlines, ExpiryHandlers expiry_handlers);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Marks work of this thread for the lifetime of the object.
  class Watch {
   public:
    /// `watchdog` may be null: then the work is not watched.
    Watch(Watchdog* watchdog, const Work& work);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    /// Reports progress: the deadline restarts.
    void feed();

   private:
    struct Entry;
    friend class Watchdog;
    Watchdog* watchdog_;
    int exceptions_;
    std::list<Entry>::iterator entry_;
  };

  void begin_phase(const std::string& name);
  /// The innermost work that an exception ended first; otherwise the work that has been running
  /// longest.
  Location location() const;
  /// Reports `sentence`, waits `seconds` for the process to be ended from outside, then ends it.
  [[noreturn]] void expire(const std::string& sentence, double seconds = 0.0);

 private:
  void look(const std::stop_token& stop);
  void guard(const std::stop_token& stop);
  std::optional<std::string> find_stuck() const;
  Location locate(const std::list<Watch::Entry>::const_iterator& entry) const;
  bool is_innermost(const std::list<Watch::Entry>::const_iterator& entry) const;

  Deadlines deadlines_;
  ExpiryHandlers expiry_handlers_;
  double tick_;  // seconds between two checks
  std::thread::id main_ = std::this_thread::get_id();
  mutable std::mutex mutex_;
  std::condition_variable_any never_;
  double now_ = 0.0;            // seconds in which this process was not suspended
  double last_progress_ = 0.0;  // when work last completed
  std::string phase_ = "start";
  std::list<Watch::Entry> works_;  // in the order of their start
  std::optional<Location> failed_;
  std::atomic<std::int64_t> looks_ = 0;
  std::atomic<bool> expiring_ = false;
  std::jthread guard_;
  std::jthread looker_;  // last, because it uses all other members
};

}  // namespace bulksim
