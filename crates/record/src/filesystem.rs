//! File systems as a dimension of a plan, and the file system on which a trial ran.
//!
//! One file system is written as `KIND` or `KIND:KEY=VALUE;KEY=VALUE…`:
//!
//! ```text
//! here                                  the work folder's own file system
//! folder:/mnt/x                         a folder on a real device; never formatted
//! tmpfs                                 memory
//! ext4                                  an image file on a loop device, made for the trial
//! ext4:mount=noatime,barrier=0          … with these mount options
//! ext4:mkfs=-O ^has_journal;size=8GiB   … with these options of mkfs.ext4, on an image of 8 GiB
//! xfs:journal=external                  … its own log on an image of its own
//! ```

use crate::host::FileSystemFacts;
use crate::list::SplitError;
use crate::suggest::did_you_mean;
use crate::value::{ParseBytesError, exact_bytes, parse_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The least size of an image, bytes: below it no mkfs makes a file system of use.
pub const MIN_IMAGE_BYTES: u64 = 16 << 20;

/// The file system that is made on a storage model if none is named.
const MODELLED_KIND: &str = "ext4";

/// Names of file systems that are no options of another.
const KNOWN_KINDS: [&str; 12] = [
    "here", "folder", "tmpfs", "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2",
    "bcachefs",
];

const KEYS: [&str; 4] = ["mkfs", "mount", "journal", "size"];

/// A text that is no file system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(
    missing_docs,
    reason = "the message of each variant says what its fields are"
)]
pub enum ParseFileSystemError {
    #[error(
        "'{text}' is no file system; write here, folder:/mnt/x, tmpfs, or the kind of one to be \
         made, as in ext4 or ext4:mount=noatime"
    )]
    Unknown { text: String },
    #[error("'here' is the work folder itself and has no options")]
    OptionsOfHere,
    #[error("'{text}' names no folder; write its whole path, as in folder:/mnt/x")]
    NoFolder { text: String },
    #[error(
        "a file system has no '{key}'{}; it has {}, separated by ';', as in \
         ext4:mkfs=-O ^has_journal;mount=noatime",
        did_you_mean(key, KEYS),
        KEYS.join(", ")
    )]
    UnknownKey { key: String },
    #[error("{file_system} is not made, so has no '{key}'")]
    NotMade {
        file_system: Box<FileSystem>,
        key: String,
    },
    #[error("journal is '{place}'; it is internal or external")]
    JournalPlace { place: String },
    #[error(transparent)]
    Size(#[from] ParseBytesError),
    #[error("an image of {size}; it must be 16MiB or more")]
    SmallImage { size: String },
    #[error(
        "'{other}' in the options of '{text}' is a file system: give each file system with options \
         its own --filesystem, or its own string in a plan; commas separate mount options, \
         semicolons the other keys"
    )]
    AmongOptions { text: String, other: String },
}

/// The file system that a trial is to run on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct FileSystem {
    /// The source of the file system.
    pub kind: FileSystemKind,
    /// Options of its mkfs, a word each.
    pub mkfs: Vec<String>,
    /// Mount options.
    pub mount: Vec<String>,
    /// Whether its journal is on a separate image.
    pub external_journal: bool,
    /// The size of the image or tmpfs, bytes; `None`: as large as the trial needs.
    pub image_bytes: Option<u64>,
}

/// The source of a file system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FileSystemKind {
    /// The work folder's own.
    #[default]
    Here,
    /// The file system of a folder that the user names.
    Folder(PathBuf),
    /// A tmpfs, mounted for the trial.
    Tmpfs,
    /// An image file, formatted for the trial by the mkfs of this name.
    Made(String),
}

impl FileSystem {
    /// Returns whether the trial runs directly in the work folder.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.kind == FileSystemKind::Here
    }

    /// Returns whether it is created in an image file.
    #[must_use]
    pub fn is_made(&self) -> bool {
        matches!(self.kind, FileSystemKind::Made(_))
    }

    /// Returns the file system that is made in the image of a storage model if none is named.
    #[must_use]
    pub fn of_storage_model() -> Self {
        Self {
            kind: FileSystemKind::Made(MODELLED_KIND.to_owned()),
            ..Self::default()
        }
    }

    /// Returns this file system with the plan's image size, unless it states its own.
    #[must_use]
    pub fn with_image(&self, image_bytes: Option<u64>) -> Self {
        let sized = self.is_made() || self.kind == FileSystemKind::Tmpfs;
        let image_bytes = self.image_bytes.or(image_bytes.filter(|_| sized));
        Self {
            image_bytes,
            ..self.clone()
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), ParseFileSystemError> {
        let words = value.split_whitespace().map(str::to_owned).collect();
        let options = value.split(',').map(str::trim).map(str::to_owned);
        match key {
            "mkfs" if self.is_made() => self.mkfs = words,
            "mount" => self.mount = options.filter(|option| !option.is_empty()).collect(),
            "journal" if self.is_made() && value == "external" => self.external_journal = true,
            "journal" if self.is_made() && value == "internal" => self.external_journal = false,
            "journal" if self.is_made() => {
                let place = value.to_owned();
                return Err(ParseFileSystemError::JournalPlace { place });
            }
            "size" => self.image_bytes = Some(parse_image(value)?),
            "mkfs" | "journal" => {
                return Err(ParseFileSystemError::NotMade {
                    file_system: Box::new(self.clone()),
                    key: key.to_owned(),
                });
            }
            _ => {
                let key = key.to_owned();
                return Err(ParseFileSystemError::UnknownKey { key });
            }
        }
        Ok(())
    }
}

/// Reads the size of an image.
fn parse_image(text: &str) -> Result<u64, ParseFileSystemError> {
    match parse_bytes(text)? {
        bytes if bytes >= MIN_IMAGE_BYTES => Ok(bytes),
        _ => Err(ParseFileSystemError::SmallImage {
            size: text.to_owned(),
        }),
    }
}

/// Splits a command-line argument into file systems. They are separated by commas, but a file
/// system with options (a `:`) extends to the end of the argument, because mount options contain
/// commas too.
///
/// # Errors
/// [`SplitError::NoFileSystem`] if the argument names none.
pub fn split(text: &str) -> Result<Vec<&str>, SplitError> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find([',', ':']).unwrap_or(rest.len());
        let end = if rest[end..].starts_with(':') {
            rest.len()
        } else {
            end
        };
        found.push(rest[..end].trim());
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    if found.is_empty() {
        return Err(SplitError::NoFileSystem);
    }
    Ok(found)
}

/// Refuses options that contain another file system: a comma within them separates mount options.
/// A folder has no options: its path may contain any character.
fn check_separators(text: &str) -> Result<(), ParseFileSystemError> {
    let Some((_, options)) = text.split_once(':').filter(|(word, _)| *word != "folder") else {
        return Ok(());
    };
    let names_file_system = |part: &&str| {
        let word = part.split_once(':').map_or(*part, |(word, _)| word);
        KNOWN_KINDS.contains(&word)
    };
    let parts = options.split([',', ';']).map(str::trim).skip(1);
    let Some(other) = parts.into_iter().find(names_file_system) else {
        return Ok(());
    };
    Err(ParseFileSystemError::AmongOptions {
        text: text.to_owned(),
        other: other.to_owned(),
    })
}

impl FromStr for FileSystem {
    type Err = ParseFileSystemError;

    fn from_str(text: &str) -> Result<Self, ParseFileSystemError> {
        check_separators(text)?;
        Self::read(text)
    }
}

impl FileSystem {
    /// Reads a file system as it is recorded.
    fn read(text: &str) -> Result<Self, ParseFileSystemError> {
        let (word, options) = text.split_once(':').unwrap_or((text, ""));
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
        let kind = match word {
            "here" if options.is_empty() => FileSystemKind::Here,
            "here" => return Err(ParseFileSystemError::OptionsOfHere),
            "folder" if options.starts_with('/') => FileSystemKind::Folder(options.into()),
            "folder" => {
                return Err(ParseFileSystemError::NoFolder {
                    text: text.to_owned(),
                });
            }
            "tmpfs" => FileSystemKind::Tmpfs,
            _ if !word.is_empty() && word.len() <= 32 && word.chars().all(plain) => {
                FileSystemKind::Made(word.to_owned())
            }
            _ => {
                return Err(ParseFileSystemError::Unknown {
                    text: text.to_owned(),
                });
            }
        };
        let mut file_system = Self {
            kind,
            ..Self::default()
        };
        if word == "folder" {
            return Ok(file_system);
        }
        for option in options.split(';').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            file_system.set(key.trim(), value.trim())?;
        }
        Ok(file_system)
    }
}

impl fmt::Display for FileSystem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.kind {
            FileSystemKind::Here => "here",
            FileSystemKind::Folder(folder) => {
                return formatter.pad(&format!("folder:{}", folder.display()));
            }
            FileSystemKind::Tmpfs => "tmpfs",
            FileSystemKind::Made(kind) => kind,
        };
        let mut options = Vec::new();
        if !self.mkfs.is_empty() {
            options.push(format!("mkfs={}", self.mkfs.join(" ")));
        }
        if !self.mount.is_empty() {
            options.push(format!("mount={}", self.mount.join(",")));
        }
        if self.external_journal {
            options.push("journal=external".to_owned());
        }
        if let Some(bytes) = self.image_bytes {
            let exact = exact_bytes(bytes);
            options.push(format!("size={exact}"));
        }
        let colon = if options.is_empty() { "" } else { ":" };
        formatter.pad(&format!("{kind}{colon}{}", options.join(";")))
    }
}

impl TryFrom<String> for FileSystem {
    type Error = ParseFileSystemError;

    fn try_from(text: String) -> Result<Self, ParseFileSystemError> {
        // Records of earlier versions have what is refused in new plans.
        Self::read(&text)
    }
}

impl From<FileSystem> for String {
    fn from(file_system: FileSystem) -> Self {
        file_system.to_string()
    }
}

/// The file system that a trial ran on, as it was made and as the kernel states it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MountedFileSystem {
    /// The command that created it; absent if it was not created for the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mkfs: Option<String>,
    /// The size of its image, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_bytes: Option<u64>,
    /// The size of a separate journal image, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_bytes: Option<u64>,
    /// Whether its loop device bypasses the page cache of the file system that holds the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct_io: Option<bool>,
    /// Type, source, mount options and size when the trial began.
    pub mounted: FileSystemFacts,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> FileSystem {
        text.parse().unwrap()
    }

    #[test]
    fn a_file_system_reads_as_it_is_written() {
        for text in [
            "here",
            "tmpfs",
            "tmpfs:size=64MiB",
            "folder:/mnt/x:y",
            "ext4",
            "ext4:mount=noatime,barrier=0",
            "ext4:mkfs=-O ^has_journal;mount=noatime;size=8GiB",
            "xfs:journal=external",
            "ext4:size=16777217",
        ] {
            assert_eq!(read(text).to_string(), text);
        }
        assert_eq!(read("ext4:mkfs=-b 1024").mkfs, ["-b", "1024"]);
        assert_eq!(read("ext4:mount=a=1,b").mount, ["a=1", "b"]);
    }

    #[test]
    fn what_is_no_file_system_is_refused_with_what_would_be_right() {
        for (text, says) in [
            ("", "is no file system"),
            ("EXT4", "is no file system"),
            ("../ext4", "is no file system"),
            ("folder:mnt", "write its whole path"),
            ("here:mount=noatime", "no options"),
            ("tmpfs:mkfs=-q", "is not made"),
            ("ext4:mont=noatime", "did you mean 'mount'"),
            ("ext4:size=1KiB", "16MiB or more"),
            ("ext4:size=large", "is not a size"),
            ("ext4:journal=elsewhere", "internal or external"),
        ] {
            let message = text.parse::<FileSystem>().unwrap_err().to_string();
            assert!(message.contains(says), "{text}: {message}");
        }
    }

    #[test]
    fn a_file_system_among_the_options_of_another_is_refused_with_the_separators() {
        for (text, other) in [
            ("ext4:mount=nobarrier,ext4", "ext4"),
            (
                "ext4:mount=nobarrier, xfs:mount=noatime",
                "xfs:mount=noatime",
            ),
            ("ext4:size=1GiB,tmpfs", "tmpfs"),
            ("ext4:mkfs=-b 1024;here", "here"),
        ] {
            let message = text.parse::<FileSystem>().unwrap_err().to_string();
            let begins =
                format!("'{other}' in the options of '{text}' is a file system: give each");
            assert!(message.starts_with(&begins), "{message}");
            assert!(!message.contains('\n') && message.contains("commas separate mount options"));
        }
        // A record of an earlier version is read.
        let recorded = "ext4:mount=nobarrier,ext4".to_owned();
        assert_eq!(
            FileSystem::try_from(recorded).unwrap().mount,
            ["nobarrier", "ext4"]
        );
    }

    #[test]
    fn the_path_of_a_folder_may_end_like_a_list_of_file_systems() {
        for path in ["/mnt/x,btrfs", "/mnt/x;ext4", "/mnt/x, tmpfs:y"] {
            let read = read(&format!("folder:{path}"));
            assert_eq!(read.kind, FileSystemKind::Folder(path.into()));
        }
    }

    #[test]
    fn on_the_command_line_options_go_on_to_the_end_of_the_argument() {
        let list = split("ext2,xfs,ext4:mount=noatime,barrier=0").unwrap();
        assert_eq!(list, ["ext2", "xfs", "ext4:mount=noatime,barrier=0"]);
        assert!(split("").is_err() && "".parse::<FileSystem>().is_err());
    }

    #[test]
    fn the_plan_s_size_is_for_what_has_an_image_and_names_none() {
        let image = Some(1 << 30);
        assert_eq!(read("ext4").with_image(image).image_bytes, image);
        let own = read("ext4:size=2GiB").with_image(image);
        assert_eq!(own.image_bytes, Some(2 << 30));
        assert_eq!(read("here").with_image(image), read("here"));
    }
}
