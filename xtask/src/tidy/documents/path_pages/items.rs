//! The names under which a page may speak of the items of a file.
//!
//! A method is known as `method` and as `Type::method`, a variant as `Enum::Variant`; free
//! functions, types, constants and macros are known by their name.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};

/// All names that `file` defines.
pub(super) fn names(file: &syn::File) -> BTreeSet<String> {
    let mut names = Names::default();
    names.visit_file(file);
    names.found
}

#[derive(Default)]
struct Names {
    found: BTreeSet<String>,
    owner: Option<String>,
}

impl Names {
    fn add(&mut self, ident: &syn::Ident) {
        if let Some(owner) = &self.owner {
            self.found.insert(format!("{owner}::{ident}"));
        }
        self.found.insert(ident.to_string());
    }

    fn within(&mut self, owner: Option<String>, visit: impl FnOnce(&mut Names)) {
        let outer = std::mem::replace(&mut self.owner, owner);
        visit(self);
        self.owner = outer;
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let owner = match item.self_ty.as_ref() {
            syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        self.within(owner, |names| visit::visit_item_impl(names, item));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.add(&item.ident);
        self.within(Some(item.ident.to_string()), |names| visit::visit_item_trait(names, item));
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add(&item.ident);
        self.within(Some(item.ident.to_string()), |names| visit::visit_item_enum(names, item));
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.add(&variant.ident);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add(&item.ident);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.add(&item.ident);
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if let Some(ident) = &item.ident {
            self.add(ident);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig.ident);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig.ident);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.add(&item.sig.ident);
    }
}
