#pragma once

#include "reports/answer/model.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"

#include <string>

namespace spillway::reports {

/// `spillway model` for a person: the model in words, its weights by kind and shape and, where they
/// are asked for, what each layer keeps for backward.
view::Document model_document(const answer::ModelCard& model);
std::string model_report(const answer::ModelCard& model, const Screen& screen);

}  // namespace spillway::reports
