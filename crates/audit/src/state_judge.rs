//! States: rebuilt from a recording, and examined by fresh processes.

use crate::block_form::ImageMount;
use crate::failure::Failure;
use crate::guarantee::Guarantee;
use crate::history::AcknowledgedCommits;
use crate::image::Image;
use crate::judgment::judge;
use crate::options::AuditOptions;
use crate::recorded::{DATABASE, RecordedWorkload};
use crate::subject::Subject;
use crate::transaction::LargeValues;
use crate::worker::{Assignment, Inspection, NewMachine, Task};
use crate::worker_process::{inspect, inspect_repeatedly};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use trueput_record::audit::{CrashState, Damage};
use trueput_record::filesystem::FileSystem;

/// Operations between two images that are kept: a state is rebuilt from the last one before it.
const SNAPSHOT_INTERVAL: usize = 256;

/// Images of a recording at intervals, from which states are rebuilt.
pub(crate) struct Images {
    kept: Vec<(usize, Image)>,
}

impl Images {
    pub(crate) fn of(recorded: &RecordedWorkload) -> Self {
        let recording = &recorded.recording;
        let mut image = Image::new();
        image.apply(recording, 0..recording.base);
        let mut kept = vec![(recording.base, image.clone())];
        let mut at = recording.base;
        while at + SNAPSHOT_INTERVAL <= recording.operations.len() {
            image.apply(recording, at..at + SNAPSHOT_INTERVAL);
            at += SNAPSHOT_INTERVAL;
            kept.push((at, image.clone()));
        }
        Self { kept }
    }

    /// Rebuilds a state.
    pub(crate) fn rebuild(&self, recorded: &RecordedWorkload, state: &CrashState) -> Image {
        let first_loss = state
            .lost_pages
            .iter()
            .map(|page| page.from)
            .chain(state.lost_operations.iter().copied())
            .chain(state.tear.iter().map(|tear| tear.operation))
            .fold(state.cut, usize::min);
        let before = self.kept.iter().rfind(|(at, _)| *at <= first_loss);
        let (start, mut image) = match before {
            Some((at, image)) => (*at, image.clone()),
            None => (0, Image::new()),
        };
        image.apply_state(&recorded.recording, start, state);
        image
    }
}

/// Rebuilds states and lets fresh processes examine them.
pub(crate) struct StateJudge<'a> {
    subject: &'a Subject,
    pub(crate) options: &'a AuditOptions,
    pub(crate) scratch: &'a Path,
    recorded: &'a RecordedWorkload,
    images: &'a Images,
    /// Whether a process can be shown a machine that has started again.
    is_root: bool,
    pub(crate) number: AtomicU64,
}

impl<'a> StateJudge<'a> {
    pub(crate) fn new(
        subject: &'a Subject,
        options: &'a AuditOptions,
        scratch: &'a Path,
        recorded: &'a RecordedWorkload,
        images: &'a Images,
    ) -> Result<Self, Failure> {
        std::fs::create_dir_all(options.database_in(&scratch.join("mount")))?;
        Ok(Self {
            subject,
            options,
            scratch,
            recorded,
            images,
            is_root: rustix::process::geteuid().is_root(),
            number: AtomicU64::new(0),
        })
    }

    pub(crate) fn image(&self, state: &CrashState) -> Image {
        self.images.rebuild(self.recorded, state)
    }

    /// Lets a fresh process examine the files of an image; `None` if the user stopped the audit.
    ///
    /// # Errors
    /// A [`Failure`], if the machine and not the engine is why it could not be examined.
    pub(crate) fn inspect(&self, image: &Image) -> Result<Option<Inspection>, Failure> {
        inspect_repeatedly(self.scratch, || self.inspect_once(image))
    }

    fn inspect_once(&self, image: &Image) -> Result<Option<Inspection>, Failure> {
        let number = self.number.fetch_add(1, Ordering::SeqCst);
        let folder = self.scratch.join(format!("state-{number}"));
        let written = std::fs::create_dir(&folder).and_then(|()| image.materialize(&folder));
        let inspected = match written {
            Ok(()) => self.inspect_folder(&folder),
            Err(source) => Err(Failure::of_file(&folder)(source)),
        };
        let removed = std::fs::remove_dir_all(&folder);
        removed.map_err(Failure::of_file(&folder))?;
        inspected
    }

    /// Lets a fresh process examine the files of a folder.
    fn inspect_folder(&self, folder: &Path) -> Result<Option<Inspection>, Failure> {
        let machine = match &self.options.file_system {
            None => self.machine(folder.join(DATABASE)),
            Some(file_system) => self.machine_of_image(file_system, folder),
        };
        inspect(
            &self.options.program,
            &self.assignment(folder, machine),
            self.options.state_limit,
            &self.options.stop,
        )
    }

    /// Returns the machine that has started again with a state; `None` without root.
    pub(crate) fn machine(&self, state: PathBuf) -> Option<NewMachine> {
        self.is_root.then_some(NewMachine { state, image: None })
    }

    /// Returns the machine that mounts the image of a state as it starts; `None` without root.
    fn machine_of_image(&self, file_system: &FileSystem, state: &Path) -> Option<NewMachine> {
        let recorded = self.scratch.join("mount");
        self.is_root.then(|| NewMachine {
            state: state.to_owned(),
            image: ImageMount::of(file_system, state, &recorded),
        })
    }

    /// Returns the assignment to inspect the state in a folder.
    pub(crate) fn assignment(&self, folder: &Path, machine: Option<NewMachine>) -> Assignment {
        Assignment {
            subject: self.subject.clone(),
            directory: match &machine {
                Some(_) => self.options.database_in(&self.scratch.join("mount")),
                None => folder.join(DATABASE),
            },
            seed: self.options.seed,
            workers: self.options.workers,
            memory_bytes: self.options.memory_bytes,
            large: LargeValues::OF_AUDIT,
            task: Task::Inspect {
                machine,
                after_lost_power: true,
                was_open: false,
            },
        }
    }

    pub(crate) fn judge(
        &self,
        state: &CrashState,
        inspection: &Inspection,
        guarantee: Guarantee,
    ) -> Option<Damage> {
        let demand = AcknowledgedCommits::at(&self.recorded.commits, state.cut as u64);
        judge(inspection, &self.recorded.commits, &demand, guarantee)
    }
}
