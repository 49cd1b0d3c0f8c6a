#include "cli/common.hpp"
#include "cli/completions.hpp"
#include "cli/man_page.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "hw_backend/storage/own_folder.hpp"

#include <filesystem>
#include <memory>

namespace spillway::cli {

namespace {

void add_pages(const Command& command, const Command* parent, const std::string& folder,
               std::vector<OutputFile>& pages) {
  pages.push_back({folder + "/" + man_name(command) + ".1",
                   man_page(command, parent, "spillway " + version_number())});
  for (const Command& verb : command.verbs) add_pages(verb, &command, folder, pages);
}

void generate(const Command& root, const std::string& what, const std::string& folder) {
  hw_backend::accept_shared_folders();  // a build runs it, wherever the tree lies
  std::error_code ignored;              // what cannot be written is said below
  std::filesystem::create_directories(folder, ignored);
  if (what == "man") {
    std::vector<OutputFile> pages;
    add_pages(root, nullptr, folder, pages);
    return write_files(pages);
  }
  if (what == "bash") return write_file(folder + "/spillway", bash_completion(root));
  if (what == "zsh") return write_file(folder + "/_spillway", zsh_completion(root));
  write_file(folder + "/spillway.fish", fish_completion(root));
}

}  // namespace

void add_generate(CLI::App& app) {
  auto what = std::make_shared<std::string>();
  auto folder = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("generate", "manual pages and completions, for packages");
  verb->group("");  // not among the verbs that people are shown
  verb->add_option("what", *what, "")
      ->required()
      ->check(CLI::IsMember({"man", "bash", "zsh", "fish"}));
  verb->add_option("folder", *folder, "where to, made when it is not there")->required();
  verb->callback([&app, what, folder] { generate(command_tree(app), *what, *folder); });
}

}  // namespace spillway::cli
