#ifndef NEUROZOO_CORE_LEARNER_LEARNER_H_
#define NEUROZOO_CORE_LEARNER_LEARNER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/learner/chain.h"
#include "core/learner/optimizer.h"
#include "core/vectors.h"
#include "core/worker_threads.h"

namespace neurozoo {

// A network that learns, copies of its weights, and an optimizer.
//
// A dueling network learns two heads, from which its last layer is computed, so that it is a dense layer to all others.
//
// One thread may learn while another asks a copy that it does not change.
class Learner {
 public:
  enum Array : std::int64_t { kOnline, kTarget, kActing, kFirstSlot };  // the slots of the optimizer follow

  // `num_threads` contain the caller's; another thread that asks meanwhile computes beside them. With `has_bfloat16`,
  // it learns in bfloat16. Throws std::invalid_argument for layers that do not fit and for bfloat16 on a processor
  // without units for it, and std::runtime_error if threads cannot be started.
  Learner(const std::vector<LayerShape>& layers, float white, bool is_dueling, const OptimizerSettings& optimizer,
          const Products& products, bool has_bfloat16, int num_threads);
  virtual ~Learner() = default;
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  const Chain& chain() const { return chain_; }

  // The numbers of an array of a layer; throws std::out_of_range if there is no such layer.
  std::int64_t Size(std::int64_t layer, Part part) const;

  // Copies an array of a layer, of weights or of a slot, from or to the order of Keras. The heads of a dueling network
  // follow its last layer: the advantages, then the value.
  void Copy(std::int64_t array, std::int64_t layer, Part part, bool is_import, float* values);
  void CopyOnlineTo(Array array) {
    room_of_.at(array) = room_of_[kOnline];
    Changed(array);
  }

  std::int64_t steps() const { return optimizer_.steps; }
  void set_steps(std::int64_t steps) { optimizer_.steps = steps; }

  // Computes the results of states, (count, results), with the weights of an array; in bfloat16 if it `is_rounded` and
  // learns so.
  void Ask(Array array, const States& states, bool is_rounded, float* results);

  // The same with those that learn and the statistics of this batch, to learn from them with `Step`.
  void Forward(const States& states, float* results);

  // How many states `Step` can learn from; throws std::logic_error if there are none.
  std::int64_t num_forward() const;

  // Learns from the gradient of a loss by the results of `Forward`, (count, results), once. Returns the gradient's norm
  // before it was bounded.
  double Step(const float* deltas, double learning_rate);

 protected:
  struct Kept {
    std::int64_t most = 0;
    std::unique_ptr<Samples> samples;
  };
  Pass PassOf(Array array, const States& states, bool is_rounded, bool has_deltas, Kept* kept) const;

  // As `Step`, from the last deltas of the samples.
  double StepFrom(const Pass& pass, double learning_rate);

  const Chain chain_;
  WorkerThreads threads_;
  Kept learned_;

 private:
  Floats& ArrayOf(std::int64_t array) {
    return array < kFirstSlot ? rooms_[room_of_.at(array)] : optimizer_.slots.at(array - kFirstSlot);
  }
  const float* Weights(Array array) const { return rooms_[room_of_.at(array)].data(); }
  void Changed(std::int64_t array);

  // Returns the room of an array's weights or, if copies share it, an empty one, in which others may be written.
  std::int64_t RoomToWrite(std::int64_t array);
  // Gives an array's weights a room of their own.
  void Separate(std::int64_t array);

  const bool is_dueling_, has_bfloat16_;
  // Weights are the parameters of the chain and, if it is dueling, of the heads. A copy shares those that learn, until
  // these move to another room.
  std::array<Floats, kFirstSlot> rooms_;
  std::array<std::int64_t, kFirstSlot> room_of_{};
  std::int64_t weights_[kFirstSlot] = {1, 2, 3};  // a new number for each change, see `Pass`
  Optimizer optimizer_;
  Floats gradient_;
  Pass forward_{};
  Kept asked_[2];  // of the copy that acts, and of the others
};

}  // namespace neurozoo

#endif  // NEUROZOO_CORE_LEARNER_LEARNER_H_
