// Networks that learn.

#include "core/learner/q_learner.h"
#include "interface/functions.h"

namespace neurozoo {
namespace {

constexpr std::int64_t kLayerNumbers = sizeof(LayerShape) / sizeof(std::int64_t);

void MakeLearner(Call* call) {
  if (call->size("layers") % kLayerNumbers != 0) {
    throw std::invalid_argument("Layers should have " + std::to_string(kLayerNumbers) + " numbers each, but got " +
                                call->ShapeText("layers") + ".");
  }
  const auto* layers = reinterpret_cast<const LayerShape*>(call->Input<std::int64_t>("layers"));
  const auto number = [&](const char* name) { return call->Value<double>(name); };
  const auto whole = [&](const char* name) { return call->Value<std::int64_t>(name); };
  const OptimizerSettings optimizer{static_cast<OptimizerSettings::Kind>(whole("optimizer")),
                                    whole("epsilon_inside"),
                                    number("decay"),
                                    number("momentum"),
                                    number("first_average"),
                                    number("epsilon"),
                                    number("max_norm")};
  const QLearnerSettings settings{whole("has_target"), whole("is_double"), whole("is_dueling"), number("learning_rate"),
                                  number("huber_delta")};
  call->Make<QLearner>("learner", std::vector<LayerShape>(layers, layers + call->size("layers") / kLayerNumbers),
                       call->Value<float>("white"), settings, optimizer,
                       whole("is_narrow") ? Products256() : WidestProducts(), whole("has_bfloat16"),
                       call->Value<std::int32_t>("num_threads"));
}

// An array of a learner's weights or moving averages.
struct Place {
  explicit Place(const Call& call)
      : learner(call.Object<QLearner>("learner")),
        array(call.Value<std::int64_t>("array")),
        layer(call.Value<std::int64_t>("layer")),
        part(static_cast<Part>(call.Value<std::int64_t>("part"))) {}

  std::shared_ptr<QLearner> learner;
  std::int64_t array, layer;
  Part part;
};

void GetWeights(Call* call) {
  const Place place(*call);
  float* values = call->Output<float>("values", {place.learner->Size(place.layer, place.part)});
  place.learner->Copy(place.array, place.layer, place.part, false, values);
}

void SetWeights(Call* call) {
  const Place place(*call);
  const float* values = call->Input<float>("values", place.learner->Size(place.layer, place.part));
  place.learner->Copy(place.array, place.layer, place.part, true, const_cast<float*>(values));  // only read
}

void CopyWeights(Call* call) {
  call->Object<QLearner>("learner")->CopyOnlineTo(static_cast<Learner::Array>(call->Value<std::int64_t>("array")));
}

void GetSteps(Call* call) { call->Give("steps", call->Object<QLearner>("learner")->steps()); }

void SetSteps(Call* call) { call->Object<QLearner>("learner")->set_steps(call->Value<std::int64_t>("steps")); }

States StatesOf(const Call& call, const QLearner& learner, bool has_planes) {
  const std::int64_t size = learner.chain().state_size();
  const std::int64_t count = call.size("states") / size;
  return {call.Input<std::uint8_t>("states", count * size), size, count, has_planes,
          call.Input<float>("given", count * learner.chain().num_given())};
}

void Ask(Call* call) {
  const auto learner = call->Object<QLearner>("learner");
  const States states = StatesOf(*call, *learner, call->Value<std::int64_t>("has_planes"));
  float* results = call->Output<float>("results", {states.count, learner->chain().num_results()});
  learner->Ask(static_cast<Learner::Array>(call->Value<std::int64_t>("array")), states,
               call->Value<std::int64_t>("is_rounded"), results);
}

void Forward(Call* call) {
  const auto learner = call->Object<QLearner>("learner");
  const States states = StatesOf(*call, *learner, false);
  learner->Forward(states, call->Output<float>("results", {states.count, learner->chain().num_results()}));
}

void Step(Call* call) {
  const auto learner = call->Object<QLearner>("learner");
  const float* deltas = call->Input<float>("deltas", learner->num_forward() * learner->chain().num_results());
  call->Give("norm", learner->Step(deltas, call->Value<double>("learning_rate")));
}

void LearnTransitions(Call* call) {
  const auto learner = call->Object<QLearner>("learner");
  const ChainLayer& first = learner->chain().layers().front();
  const std::int64_t steps = call->Value<std::int64_t>("steps"), screens = first.in_channels + steps;
  const std::int64_t count = call->size("actions");
  const std::int32_t* actions = call->Input<std::int32_t>("actions");
  for (std::int64_t i = 0; i < count; ++i) {
    if (actions[i] < 0 || actions[i] >= learner->chain().num_outputs()) {
      throw std::invalid_argument("There is no action " + std::to_string(actions[i]) + ".");
    }
  }
  const Transitions transitions{
      call->Input<std::uint8_t>("screens", count * screens * first.in_height * first.in_width),
      count,
      screens,
      steps,
      actions,
      call->Input<float>("returns", count),
      call->Input<float>("discounts", count),
      call->Input<float>("weights", count)};
  learner->Update(transitions, call->Output<float>("errors", {count}));
}

const Registration kFunctions[] = {
    {{"make_learner",
      "layers: int64, white: float32, optimizer: int64, epsilon_inside: int64, decay: float64, momentum: float64, "
      "first_average: float64, epsilon: float64, max_norm: float64, has_target: int64, is_double: int64, "
      "is_dueling: int64, learning_rate: float64, huber_delta: float64, num_threads: int32, is_narrow: int64, "
      "has_bfloat16: int64",
      "learner: object",
      "Makes a network that learns: see LayerShape, OptimizerSettings and QLearnerSettings. If it `is_narrow`, vectors "
      "have 256 bits even where the processor has wider ones; results are the same. With `has_bfloat16`, all layers "
      "but "
      "the last learn in bfloat16, with sums and weights in float32."},
     MakeLearner},
    {{"get_weights", "learner: object, array: int64, layer: int64, part: int64", "values: float32",
      "Returns an array of a layer in the order of Keras: see Learner::Copy."},
     GetWeights},
    {{"set_weights", "learner: object, array: int64, layer: int64, part: int64, values: float32", "",
      "Sets an array of a layer."},
     SetWeights},
    {{"copy_weights", "learner: object, array: int64", "", "Sets a copy of the weights to those that learn."},
     CopyWeights},
    {{"get_optimizer_steps", "learner: object", "steps: int64", "Returns the steps of the optimizer so far."},
     GetSteps},
    {{"set_optimizer_steps", "learner: object, steps: int64", "", "Continues after that many steps."}, SetSteps},
    {{"ask_learner",
      "learner: object, array: int64, states: uint8, has_planes: int64, given: float32, is_rounded: int64",
      "results: float32", "Computes the results of states with some weights: see Learner::Ask."},
     Ask},
    {{"forward_learner", "learner: object, states: uint8, given: float32", "results: float32",
      "The same with the weights that learn, for `step_learner`."},
     Forward},
    {{"step_learner", "learner: object, deltas: float32, learning_rate: float64", "norm: float64",
      "Learns from the gradient of a loss by the last results; returns the norm of the gradient: see Learner::Step."},
     Step},
    {{"learn_transitions",
      "learner: object, screens: uint8, steps: int64, actions: int32, returns: float32, discounts: float32, "
      "weights: float32",
      "errors: float32", "Makes an update of deep Q-learning: see QLearner::Update."},
     LearnTransitions},
};

}  // namespace
}  // namespace neurozoo
