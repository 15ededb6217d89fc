//! canopydb: a write transaction keeps a value that it has read, and changes the tree.
//!
//! Usage: `canopydb-shared-value FOLDER`. The folder must not exist.

use canopydb::Bytes;

fn main() {
    let folder = std::env::args()
        .nth(1)
        .expect("usage: canopydb-shared-value FOLDER");
    std::fs::create_dir(&folder).expect("a new folder");
    let db = canopydb::Database::new(folder).expect("open");
    let transaction = db.begin_write().expect("begin");
    let mut tree = transaction.get_or_create_tree(b"tree").expect("tree");
    tree.insert(b"key", b"value").expect("insert");
    let read: Bytes = tree.get(b"key").expect("get").expect("a value");
    println!("read {:?}", String::from_utf8_lossy(&read));
    // `read` borrows nothing from the tree or the transaction.
    tree.delete(b"key").expect("delete");
    println!("deleted; still have {:?}", String::from_utf8_lossy(&read));
}
