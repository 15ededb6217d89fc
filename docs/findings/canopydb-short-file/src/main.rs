//! Makes a checkpoint of a canopydb database, or opens one. kill_checkpoint.sh runs it.
//!
//! `canopydb-short-file create FOLDER`: a new database with a record, and a checkpoint.
//! `canopydb-short-file change FOLDER`: opens it, commits the removal of a record that is not there,
//! and makes a checkpoint.
//! `canopydb-short-file open FOLDER`: opens it, and counts its records.

use canopydb::Database;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (command, folder) = (&arguments[1], &arguments[2]);
    if command == "create" {
        std::fs::create_dir(folder).expect("a new folder");
    }
    let database = Database::new(folder).unwrap_or_else(|error| {
        println!("does not open: {error}");
        std::process::exit(1);
    });
    if command == "open" {
        let transaction = database.begin_read().expect("begin");
        let tree = transaction.get_tree(b"tree").expect("tree");
        println!("opens, {} records", tree.map_or(0, |tree| tree.len()));
        return;
    }
    let transaction = database.begin_write().expect("begin");
    let mut tree = transaction.get_or_create_tree(b"tree").expect("tree");
    if command == "create" {
        tree.insert(b"key", b"value").expect("insert");
    } else {
        tree.delete(b"another").expect("delete");
    }
    drop(tree);
    transaction.commit_with(true).expect("commit");
    database.checkpoint().expect("checkpoint");
}
