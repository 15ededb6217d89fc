//! Commits three records to a canopydb database with the default options, each synchronously, with
//! a checkpoint after the first and the second one; ends without closing it, as a killed process
//! does; or looks which records are there. The third commit's write to the log must be slow
//! (slow_write.c).
//!
//! `canopydb-trimmed-log write|look FOLDER`

use canopydb::Database;

const SLOW: &str = "SLOW_WRITES";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (command, folder) = (&arguments[1], &arguments[2]);
    let database = Database::new(folder).expect("opens");
    if command == "look" {
        let found = (1..=3).filter(|number| contains(&database, *number));
        println!("opens; records {:?}", found.collect::<Vec<u32>>());
        return;
    }
    commit(&database, 1);
    database.checkpoint().expect("checkpoint");
    commit(&database, 2);
    database.checkpoint().expect("checkpoint");
    // SAFETY: no other thread reads or writes the environment.
    unsafe { std::env::set_var(SLOW, "yes") };
    commit(&database, 3);
    std::thread::sleep(std::time::Duration::from_millis(100));
    // No destructor runs.
    std::process::exit(0);
}

fn commit(database: &Database, number: u32) {
    let transaction = database.begin_write().expect("begin");
    let mut tree = transaction.get_or_create_tree(b"tree").expect("tree");
    tree.insert(&number.to_be_bytes(), &[b'v'; 1000])
        .expect("insert");
    drop(tree);
    transaction.commit_with(true).expect("commit");
    println!("commit {number} returned Ok");
}

fn contains(database: &Database, number: u32) -> bool {
    let transaction = database.begin_read().expect("begin");
    let tree = transaction.get_tree(b"tree").expect("tree");
    tree.is_some_and(|tree| tree.get(&number.to_be_bytes()).expect("get").is_some())
}
