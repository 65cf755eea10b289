#include "join/alone.h"

#include "join/launch_options.h"
#include "join/secrets.h"

namespace weft::runtime {
namespace {

class alone final : public bootstrap {
 public:
  explicit alone(identity who) : who_(std::move(who)) {}

  const identity& who() const override { return who_; }
  const char* way() const override { return "alone"; }
  result<std::vector<base::byte_buffer>> exchange(base::byte_view mine, base::nanoseconds) override {
    return std::vector<base::byte_buffer>{base::byte_buffer(mine.begin(), mine.end())};
  }
  void watch(std::function<void(node_id, const std::string&)>) override {}  // there is nobody to watch
  void report(node_id, const std::string&) override {}
  status leave() override { return {}; }

 private:
  identity who_;
};

}  // namespace

result<std::unique_ptr<bootstrap>> join_alone() {
  identity who;
  who.options = options_from_environment();
  if (auto s = check_options(who.options, 1, 1); !s) return s;
  if (auto s = make_secrets(who.group, who.key); !s) return s;
  return std::unique_ptr<bootstrap>(std::make_unique<alone>(std::move(who)));
}

}  // namespace weft::runtime
