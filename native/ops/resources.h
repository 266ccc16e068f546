#ifndef NEUROZOO_OPS_RESOURCES_H_
#define NEUROZOO_OPS_RESOURCES_H_

// Objects of the core that live from one call of an op to the next: the op that makes one returns a handle, and the ops
// that use it take the handle as input 0. TensorFlow counts the references and deletes the object with the last one.

#include <string>

#include "ops/op_support.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace neurozoo {

// The output and the attributes of an op that makes an object. Equal `shared_name`s share one object.
#define NEUROZOO_HANDLE                 \
  .Output("handle: resource")           \
      .Attr("container: string = ''")   \
      .Attr("shared_name: string = ''") \
      .SetIsStateful()                  \
      .SetShapeFn(tf::shape_inference::ScalarShape)

// An object with the reference count that TensorFlow needs.
template <typename Content>
class Resource : public tf::ResourceBase {
 public:
  template <typename Options>
  explicit Resource(const Options& options) : content(options) {}
  std::string DebugString() const override { return "Neurozoo"; }

  Content content;
};

// Makes a `Content` from `Options`, which the derived class reads from the attributes.
template <typename Content, typename Options>
class ResourceMaker : public tf::ResourceOpKernel<Resource<Content>> {
 public:
  using tf::ResourceOpKernel<Resource<Content>>::ResourceOpKernel;

 protected:
  Options options_;

 private:
  absl::Status CreateResource(Resource<Content>** resource) override {
    *resource = nullptr;
    return Guarded([&] { *resource = new Resource<Content>(options_); });
  }
};

// Looks up the object behind input 0 and lets the derived class work with it.
template <typename Content>
class ResourceUser : public tf::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tf::OpKernelContext* context) override {
    tf::core::RefCountPtr<Resource<Content>> resource;
    OP_REQUIRES_OK(context, tf::LookupResource(context, tf::HandleFromInput(context, 0), &resource));
    OP_REQUIRES_OK(context, Guarded([&] { Use(context, &resource->content); }));
  }

 protected:
  // May throw; Python raises it.
  virtual void Use(tf::OpKernelContext* context, Content* content) = 0;
};

}  // namespace neurozoo

#endif  // NEUROZOO_OPS_RESOURCES_H_
