//! The launchers that this program knows, as a table: the command of each, and what its ends mean.
//! There is one mechanism for all of them; a launcher of a user's is a row without knowledge.

/// A launcher's row.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LauncherRules {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its command, as a template.
    pub command: &'static str,
    /// How its program gets here.
    pub remedy: &'static str,
    /// The option that names a configuration file of it, if `--ssh-config` does.
    pub config_option: Option<&'static str>,
    /// Variables that would change its input and output.
    pub unset: &'static [&'static str],
    /// Where its hosts come from, if it knows them.
    pub allocation: Option<Allocation>,
    /// What its ends mean. The first that fits counts.
    pub ends: &'static [LauncherEnd],
}

/// The hosts that a scheduler has given to this process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    /// The variable that a process inside one has.
    pub variable: &'static str,
    /// How to get one.
    pub remedy: &'static str,
    /// The command that lists its hosts, one a line.
    pub hosts_command: &'static [&'static str],
}

/// An end of a launcher, by its exit code and by words of its standard error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LauncherEnd {
    /// Its exit code; `None`: any.
    pub code: Option<i32>,
    /// What one of its last lines contains; empty: anything.
    pub words: &'static str,
    /// What that means.
    pub meaning: EndReason,
}

/// What an end of a launcher means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndReason {
    /// The host does not have the program.
    NoProgram,
    /// The host cannot run the program.
    NotRun,
    /// The host refuses the login.
    LoginRefusal,
    /// The key of the host is not the known one.
    OtherKey,
    /// The launcher does not get through to the host.
    NoWay,
    /// The allocation has ended: no host is left.
    AllocationEnd,
    /// The words say it, and this is the remedy.
    Remedy(&'static str),
}

const fn end(code: Option<i32>, words: &'static str, meaning: EndReason) -> LauncherEnd {
    LauncherEnd {
        code,
        words,
        meaning,
    }
}

const SSH_ENDS: &[LauncherEnd] = &[
    end(Some(127), "", EndReason::NoProgram),
    end(Some(126), "", EndReason::NotRun),
    end(None, "Permission denied", EndReason::LoginRefusal),
    end(None, "Host key verification failed", EndReason::OtherKey),
    end(Some(255), "", EndReason::NoWay),
];

const NODE_LOST: EndReason = EndReason::Remedy(
    "Slurm has lost the node or the step: look at 'sinfo -R', and continue on other nodes with \
     'trueput run --resume FOLDER', or start again without this host",
);

const NODE_BUSY: EndReason = EndReason::Remedy(
    "other steps have the node's processors: wait for them, or get an allocation with 'salloc \
     --exclusive'",
);

const SLURM_ENDS: &[LauncherEnd] = &[
    end(None, "No such file or directory", EndReason::NoProgram),
    end(None, "Permission denied", EndReason::NotRun),
    end(None, "Exec format error", EndReason::NotRun),
    end(None, "has been revoked", EndReason::AllocationEnd),
    end(None, "DUE TO TIME LIMIT", EndReason::AllocationEnd),
    end(None, "Job has already finished", EndReason::AllocationEnd),
    end(None, "Expired or invalid job", EndReason::AllocationEnd),
    end(
        None,
        "Job/step already completing",
        EndReason::AllocationEnd,
    ),
    end(
        None,
        "Unable to confirm allocation",
        EndReason::AllocationEnd,
    ),
    end(None, "Invalid job id", EndReason::AllocationEnd),
    end(None, "CANCELLED", EndReason::AllocationEnd),
    end(None, "Node failure", NODE_LOST),
    end(None, "NODE FAILURE", NODE_LOST),
    end(None, "Requested nodes are busy", NODE_BUSY),
    end(None, "step creation temporarily disabled", NODE_BUSY),
    end(None, "Unable to allocate resources", NODE_BUSY),
    end(
        None,
        "Invalid node name",
        EndReason::Remedy("name hosts of this allocation: 'scontrol show hostnames' lists them"),
    ),
    end(
        None,
        "Requested node configuration is not available",
        EndReason::Remedy("name hosts of this allocation: 'scontrol show hostnames' lists them"),
    ),
    end(
        None,
        "Unable to contact slurm controller",
        EndReason::Remedy("slurmctld does not answer: see 'scontrol ping'"),
    ),
];

const KUBERNETES_ENDS: &[LauncherEnd] = &[
    end(
        None,
        "NotFound",
        EndReason::Remedy(
            "there is no such pod in the namespace of the context: 'kubectl get pods'",
        ),
    ),
    end(None, "executable file not found", EndReason::NoProgram),
    end(None, "no such file or directory", EndReason::NoProgram),
    end(Some(127), "", EndReason::NoProgram),
    end(Some(126), "", EndReason::NotRun),
    end(
        None,
        "Forbidden",
        EndReason::Remedy("the account needs the right 'create' on 'pods/exec'"),
    ),
    end(
        None,
        "container not found",
        EndReason::Remedy("the pod does not run: 'kubectl describe pod' says why"),
    ),
    end(
        None,
        "cannot exec into a container in a completed pod",
        EndReason::Remedy("the pod has ended: apply the manifest again"),
    ),
    end(None, "connection to the server", EndReason::NoWay),
    end(None, "Unable to connect to the server", EndReason::NoWay),
];

/// What a shell or `env` at the end of any command says.
const TEMPLATE_ENDS: &[LauncherEnd] = &[
    end(Some(127), "", EndReason::NoProgram),
    end(Some(126), "", EndReason::NotRun),
];

/// The launchers that have names. The first is the default.
pub(crate) const BUILT_IN: [LauncherRules; 3] = [
    LauncherRules {
        name: "ssh",
        // No terminal, no forwarding, no shared connection: it must end when this process does.
        // The shell makes room for the program, which so has ssh's server as its parent, and dies
        // with it.
        command: "ssh -T -a -x -S none -o BatchMode=yes -o ClearAllForwardings=yes \
                  -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3 \
                  -- {host} 'exec {command}'",
        remedy: "install the package openssh-client",
        config_option: Some("-F"),
        unset: &[],
        allocation: None,
        ends: SSH_ENDS,
    },
    LauncherRules {
        name: "slurm",
        // Steps share the nodes of the allocation with each other. Without `--unbuffered`, short
        // lines wait for more.
        command: "srun --overlap --nodes=1 --ntasks=1 --nodelist={host} --unbuffered --mpi=none \
                  --quit-on-interrupt --immediate=10 {command}",
        remedy: "install the package slurm-client, and start trueput where srun is",
        config_option: None,
        // Labels, files in place of the pipes, and other programs.
        unset: &[
            "SLURM_LABELIO",
            "SLURM_STDINMODE",
            "SLURM_STDOUTMODE",
            "SLURM_STDERRMODE",
            "SLURM_MULTI_PROG",
        ],
        allocation: Some(Allocation {
            variable: "SLURM_JOB_ID",
            remedy: "start it inside one, as in 'salloc --nodes=3 --exclusive --immediate=60 \
                     --kill-command=INT trueput run …'",
            hosts_command: &["scontrol", "show", "hostnames"],
        }),
        ends: SLURM_ENDS,
    },
    LauncherRules {
        name: "kubernetes",
        // Never `-t`: a terminal changes bytes.
        command: "kubectl exec --stdin --quiet {host} -- {command}",
        remedy: "install kubectl, and check it with 'kubectl get pods'",
        config_option: None,
        unset: &[],
        allocation: None,
        ends: KUBERNETES_ENDS,
    },
];

/// The row of a user's own command.
pub(crate) const TEMPLATE: LauncherRules = LauncherRules {
    name: "a template",
    command: "",
    remedy: "check the first word of --launcher",
    config_option: None,
    unset: &[],
    allocation: None,
    ends: TEMPLATE_ENDS,
};
