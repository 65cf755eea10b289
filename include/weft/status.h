// How weft reports failure: `status` for operations, `result<T>` for operations that produce something, and `weft::error`, the
// exception that constructors of public objects throw.
//
// A failure carries a code for programs and one sentence for people: what failed, on which node, and what to try. Success costs
// one null pointer; the sentence is only built when something went wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace weft {

enum class errc : std::uint8_t {
  invalid_argument,  // the call makes no sense as given
  no_right,          // the window was not exported with the right that this operation needs
  out_of_bounds,     // the operation would leave the window
  revoked,           // the window or queue is gone, or the capability was never its own
  node_failed,       // the other node ended, or cannot be reached
  timed_out,         // the deadline passed first
  too_large,         // beyond a stated bound
  would_block,       // a handler asked for something that waits
  unavailable,       // this machine or build does not offer it
  system,            // a system call failed
};

const char* to_string(errc code) noexcept;

class [[nodiscard]] status {
 public:
  status() noexcept = default;  // success
  status(errc code, std::string sentence) : failure_(std::make_unique<failure>(failure{code, std::move(sentence)})) {}

  bool ok() const noexcept { return failure_ == nullptr; }
  explicit operator bool() const noexcept { return ok(); }

  // Only to be asked of a failure.
  errc code() const noexcept { return failure_->code; }
  const std::string& sentence() const noexcept { return failure_->sentence; }

  // Turns a failure into the exception; for code whose caller expects exceptions.
  void or_throw() const;

  // Declares that a failure here has no consequence.
  void ignore() const noexcept {}

  // A status is moved, not copied; a failure that has several readers is cloned.
  status clone() const { return ok() ? status() : status(failure_->code, failure_->sentence); }

 private:
  struct failure {
    errc code;
    std::string sentence;
  };
  std::unique_ptr<failure> failure_;
};

// The exception form. what() is the sentence.
class error : public std::runtime_error {
 public:
  error(errc code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  errc code() const noexcept { return code_; }

 private:
  errc code_;
};

inline void status::or_throw() const {
  if (!ok()) throw error(code(), sentence());
}

template <typename T>
class [[nodiscard]] result {
 public:
  result(T value) : value_(std::move(value)) {}
  result(status failure) : status_(std::move(failure)) {}
  result(errc code, std::string sentence) : status_(code, std::move(sentence)) {}

  bool ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }

  // Only to be asked of a success.
  T& operator*() & noexcept { return *value_; }
  const T& operator*() const& noexcept { return *value_; }
  T&& operator*() && noexcept { return std::move(*value_); }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }

  // Only to be asked of a failure.
  errc code() const noexcept { return status_.code(); }
  const std::string& sentence() const noexcept { return status_.sentence(); }
  status failure() const { return status_.clone(); }

  T or_throw() && {
    if (!ok()) status_.or_throw();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
  status status_;
};

}  // namespace weft
