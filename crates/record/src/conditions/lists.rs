//! The conditions of a plan. A condition with several values is a dimension.

use super::{ConditionLists, Conditions, TimeSlice};
use crate::filesystem::FileSystem;
use crate::storage_model::{ModelReference, is_in_folder};
use std::path::Path;

impl ConditionLists {
    /// Returns the size of every engine's own cache, bytes; `None` if there is none or several.
    #[must_use]
    pub fn shared_cache_bytes(&self) -> Option<u64> {
        match self.cache_bytes[..] {
            [size] => size,
            _ => None,
        }
    }

    /// Returns the image size if one is set and no file system uses it.
    #[must_use]
    pub fn unused_image(&self) -> Option<u64> {
        let lists = Self {
            image_bytes: Some(1),
            ..self.clone()
        };
        let takes_it = |conditions: &Conditions| {
            let wanted = [&conditions.file_system, &conditions.log_file_system];
            let mut wanted = wanted.into_iter().flatten();
            wanted.any(|wanted| wanted.image_bytes == Some(1))
        };
        self.image_bytes
            .filter(|_| !lists.combinations().iter().any(takes_it))
    }

    /// Gives the image size to the file systems that storage models take where none is named.
    pub(super) fn size_modelled_images(&self, conditions: &mut Conditions) {
        let Conditions {
            storage_model,
            file_system,
            log_storage_model,
            log_file_system,
            ..
        } = conditions;
        for (model, file_system) in [
            (storage_model, file_system),
            (log_storage_model, log_file_system),
        ] {
            let has_image = model.is_some() && !is_in_folder(model.as_deref());
            if has_image && file_system.is_none() && self.image_bytes.is_some() {
                *file_system = Some(FileSystem::of_storage_model().with_image(self.image_bytes));
            }
        }
    }

    /// Finds the files of storage models in the folder of the plan that names them.
    pub fn resolve_model_files(&mut self, folder: &Path) {
        let log = self.log_storage_model.iter_mut();
        for model in self.storage_model.iter_mut().chain(log).flatten() {
            let reference = ModelReference::of(model);
            if reference.file().is_some() {
                // A plan has no hash yet: one in a file's name stays.
                let name = model
                    .strip_prefix(&reference.in_same_form(""))
                    .unwrap_or(model);
                let path = folder.join(name).display().to_string();
                *model = reference.in_same_form(&path);
            }
        }
    }

    /// Returns the length that the plan gives; the expansion decides where it leaves the choice.
    pub(super) fn sliced(&self, slice: &TimeSlice) -> Option<f64> {
        match slice {
            TimeSlice::Length(length_s) => Some(*length_s),
            TimeSlice::Auto | TimeSlice::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::Allocator;
    use crate::storage_model::parse_model;

    #[test]
    fn a_plan_without_conditions_has_the_default_alone() {
        let lists = ConditionLists::default();
        assert_eq!(lists.combinations(), [Conditions::default()]);
    }

    #[test]
    fn conditions_with_several_values_are_dimensions() {
        let lists = ConditionLists {
            duration_s: Some(5.0),
            rate_per_s: vec![0.0, 100.0],
            allocator: vec![Allocator::Libc, Allocator::Jemalloc],
            ..ConditionLists::default()
        };
        let all = lists.combinations();
        assert_eq!(all.len(), 4);
        assert!(all.iter().all(|one| one.duration_s == Some(5.0)));
        assert_eq!(all[0].rate, None);
        assert_eq!(all[1].rate.map(|rate| rate.per_s), Some(100.0));
        assert_eq!(all[2].allocator, Allocator::Jemalloc);
    }

    #[test]
    fn a_plan_that_lists_both_file_systems_varies_that_of_the_database_slowest() {
        let list = |texts: [&str; 2]| texts.map(|text| text.parse().unwrap()).to_vec();
        let lists = ConditionLists {
            file_system: list(["ext4", "xfs"]),
            log_file_system: list(["tmpfs", "ext2"]),
            memory_bytes: vec![None, Some(1 << 30)],
            ..ConditionLists::default()
        };
        let all = lists.combinations();
        let shown: Vec<_> = all.iter().map(Conditions::special).collect();
        let expected = [
            "filesystem=ext4 log_filesystem=tmpfs",
            "memory=1 GiB filesystem=ext4 log_filesystem=tmpfs",
            "filesystem=ext4 log_filesystem=ext2",
            "memory=1 GiB filesystem=ext4 log_filesystem=ext2",
            "filesystem=xfs log_filesystem=tmpfs",
            "memory=1 GiB filesystem=xfs log_filesystem=tmpfs",
            "filesystem=xfs log_filesystem=ext2",
            "memory=1 GiB filesystem=xfs log_filesystem=ext2",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_file_of_a_storage_model_is_in_the_folder_of_its_plan() {
        let model = |text: &str| Some(text.to_owned());
        let mut lists = ConditionLists {
            storage_model: vec![
                None,
                model("hdd-7200"),
                model("my.toml"),
                model("folder:a/b"),
            ],
            log_storage_model: vec![model("/abs/my.toml")],
            ..ConditionLists::default()
        };
        lists.resolve_model_files(Path::new("plans"));
        let files = ["plans/my.toml", "folder:plans/a/b"].map(model);
        assert_eq!(lists.storage_model[..2], [None, model("hdd-7200")]);
        assert_eq!(lists.storage_model[2..], files);
        assert_eq!(lists.log_storage_model, [model("/abs/my.toml")]);
    }

    #[test]
    fn an_image_size_that_no_file_system_takes_is_unused() {
        let lists = |file_systems: &[&str]| ConditionLists {
            file_system: file_systems
                .iter()
                .map(|text| text.parse().unwrap())
                .collect(),
            image_bytes: Some(1 << 30),
            ..ConditionLists::default()
        };
        assert_eq!(lists(&[]).unused_image(), Some(1 << 30));
        assert_eq!(
            lists(&["here", "folder:/mnt/x"]).unused_image(),
            Some(1 << 30)
        );
        assert_eq!(lists(&["ext4:size=2GiB"]).unused_image(), Some(1 << 30));
        assert_eq!(lists(&["here", "ext4"]).unused_image(), None);
        assert_eq!(lists(&["tmpfs"]).unused_image(), None);
        let log = ConditionLists {
            log_file_system: vec!["xfs".parse().unwrap()],
            ..lists(&["here"])
        };
        assert_eq!(log.unused_image(), None);
        let none = ConditionLists::default();
        assert_eq!(none.unused_image(), None);
    }

    #[test]
    fn the_image_of_a_storage_model_has_the_size_of_the_plan() {
        let lists = |models: &[&str]| ConditionLists {
            storage_model: models
                .iter()
                .map(|text| parse_model(text).unwrap())
                .collect(),
            image_bytes: Some(1 << 30),
            ..ConditionLists::default()
        };
        let shown = |lists: &ConditionLists| {
            let all = lists.combinations().into_iter();
            all.map(|one| one.file_system.map(|wanted| wanted.to_string()))
                .collect::<Vec<_>>()
        };
        let sized = || Some("ext4:size=1GiB".to_owned());
        let both = lists(&["none", "hdd-7200"]);
        assert_eq!(
            (shown(&both), both.unused_image()),
            (vec![None, sized()], None)
        );
        // What the plan names stays.
        let named = ConditionLists {
            file_system: vec!["xfs:size=2GiB".parse().unwrap()],
            ..lists(&["hdd-7200"])
        };
        assert_eq!(shown(&named), [Some("xfs:size=2GiB".to_owned())]);
        assert_eq!(named.unused_image(), Some(1 << 30));
        // The controls: without an image, or without a size, there is none.
        let folder = lists(&["folder:hdd-7200"]);
        assert_eq!(
            (shown(&folder), folder.unused_image()),
            (vec![None], Some(1 << 30))
        );
        let unsized_image = ConditionLists {
            image_bytes: None,
            ..lists(&["hdd-7200"])
        };
        assert_eq!(shown(&unsized_image), [None]);
    }
}
