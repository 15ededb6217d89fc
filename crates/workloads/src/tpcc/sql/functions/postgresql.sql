-- The five transactions as functions of the server. Each is one statement, and so one transaction.
-- They lock and write in the order in which the statements of the client do.

CREATE FUNCTION tpcc_new_order(
    home integer, of_district integer, buyer integer,
    items integer[], suppliers integer[], quantities integer[], entered timestamp
) RETURNS TABLE (
    number integer, discount numeric, last_name text, credit text,
    warehouse_tax numeric, district_tax numeric,
    line integer, item_name text, in_stock integer, is_original boolean,
    price numeric, amount numeric
) LANGUAGE plpgsql AS $$
DECLARE
    taken record;
    taken_ytd bigint;
    taken_remote integer;
    warehouses integer[] := '{}';
    stocks integer[] := '{}';
    left_over integer[] := '{}';
    ytds bigint[] := '{}';
    order_counts integer[] := '{}';
    remote_counts integer[] := '{}';
    lines integer[] := '{}';
    amounts numeric[] := '{}';
    infos text[] := '{}';
BEGIN
    SELECT c_discount, c_last, c_credit, w_tax
        INTO discount, last_name, credit, warehouse_tax
        FROM customer, warehouse
        WHERE c_w_id = home AND c_d_id = of_district AND c_id = buyer AND w_id = c_w_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the customer or the warehouse is not there';
    END IF;
    UPDATE district SET d_next_o_id = d_next_o_id + 1
        WHERE d_w_id = home AND d_id = of_district
        RETURNING d_next_o_id - 1, d_tax INTO number, district_tax;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the district is not there';
    END IF;
    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        VALUES (home, of_district, number, buyer, entered, cardinality(items),
                (home = ALL (suppliers))::integer);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (home, of_district, number);

    -- Each stock once, in the order of its key; the lines that want it, in theirs.
    FOR taken IN
        SELECT s_w_id, s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_data,
               i_price, i_name, i_data, of_lines,
               CASE of_district
                   WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                   WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                   WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                   ELSE s_dist_10
               END AS info
        FROM (SELECT w, i, array_agg(n::integer ORDER BY n) AS of_lines
              FROM unnest(suppliers, items) WITH ORDINALITY AS asked (w, i, n)
              GROUP BY w, i) AS asked
        JOIN item ON i_id = i
        JOIN stock ON s_w_id = w AND s_i_id = i
        ORDER BY s_w_id, s_i_id
        FOR UPDATE OF stock
    LOOP
        in_stock := taken.s_quantity;
        taken_ytd := taken.s_ytd;
        price := taken.i_price;
        item_name := taken.i_name;
        is_original := taken.i_data LIKE '%ORIGINAL%' AND taken.s_data LIKE '%ORIGINAL%';
        FOREACH line IN ARRAY taken.of_lines LOOP
            in_stock := in_stock - quantities[line];
            IF in_stock < 10 THEN
                in_stock := in_stock + 91;
            END IF;
            taken_ytd := taken_ytd + quantities[line];
            amount := price * quantities[line];
            lines := lines || line;
            amounts := amounts || amount;
            infos := infos || taken.info::text;
            RETURN NEXT;
        END LOOP;
        taken_remote := CASE WHEN taken.s_w_id = home THEN 0 ELSE cardinality(taken.of_lines) END;
        warehouses := warehouses || taken.s_w_id;
        stocks := stocks || taken.s_i_id;
        left_over := left_over || in_stock;
        ytds := ytds || taken_ytd;
        order_counts := order_counts || (taken.s_order_cnt + cardinality(taken.of_lines));
        remote_counts := remote_counts || (taken.s_remote_cnt + taken_remote);
    END LOOP;

    UPDATE stock
        SET s_quantity = quantity, s_ytd = ytd, s_order_cnt = order_count,
            s_remote_cnt = remote_count
        FROM unnest(warehouses, stocks, left_over, ytds, order_counts, remote_counts)
            AS changed (w, i, quantity, ytd, order_count, remote_count)
        WHERE s_w_id = w AND s_i_id = i;
    INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
                            ol_quantity, ol_amount, ol_dist_info)
        SELECT home, of_district, number, n, items[n], suppliers[n], quantities[n], a, info
        FROM unnest(lines, amounts, infos) AS filled (n, a, info);

    IF cardinality(lines) < cardinality(items) THEN
        IF cardinality(lines) < (SELECT count(*) FROM unnest(items) AS asked (i)
                                 JOIN item ON i_id = i) THEN
            RAISE EXCEPTION 'a stock is not there';
        END IF;
        -- Clause 2.4.2.3: all is done, and is rolled back.
        RAISE EXCEPTION 'an item is not there' USING ERRCODE = 'TPC01';
    END IF;
END $$;

CREATE FUNCTION tpcc_customer(of_warehouse integer, of_district integer, name text)
RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    ids integer[];
BEGIN
    SELECT array_agg(c_id ORDER BY c_first, c_id) INTO ids FROM customer
        WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_last = name;
    IF ids IS NULL THEN
        RAISE EXCEPTION 'there is no customer named %', name;
    END IF;
    RETURN ids[(cardinality(ids) + 1) / 2];
END $$;

CREATE FUNCTION tpcc_payment(
    home integer, of_district integer,
    customer_warehouse integer, customer_district integer, payer integer, name text,
    amount numeric, paid timestamp
) RETURNS TABLE (
    c_number integer, c_names text, c_address text, c_contact text, since timestamp,
    credit text, credit_limit numeric, discount numeric, balance numeric, notes text,
    w_address text, d_address text
) LANGUAGE plpgsql AS $$
DECLARE
    warehouse_name text;
    district_name text;
BEGIN
    c_number := payer;
    IF payer IS NULL THEN
        c_number := tpcc_customer(customer_warehouse, customer_district, name);
    END IF;
    UPDATE customer
        SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
            c_payment_cnt = c_payment_cnt + 1,
            c_data = CASE c_credit
                WHEN 'BC' THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, of_district, home,
                                              amount || '|' || c_data), 500)
                ELSE c_data
            END
        WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = c_number
        RETURNING concat_ws(' ', c_first, c_middle, c_last),
            concat_ws(' ', c_street_1, c_street_2, c_city, c_state, c_zip), c_phone, c_since,
            c_credit, c_credit_lim, c_discount, c_balance,
            CASE c_credit WHEN 'BC' THEN left(c_data, 200) END
        INTO c_names, c_address, c_contact, since, credit, credit_limit, discount, balance, notes;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the customer is not there';
    END IF;
    UPDATE district SET d_ytd = d_ytd + amount
        WHERE d_w_id = home AND d_id = of_district
        RETURNING d_name, concat_ws(' ', d_street_1, d_street_2, d_city, d_state, d_zip)
        INTO district_name, d_address;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the district is not there';
    END IF;
    UPDATE warehouse SET w_ytd = w_ytd + amount
        WHERE w_id = home
        RETURNING w_name, concat_ws(' ', w_street_1, w_street_2, w_city, w_state, w_zip)
        INTO warehouse_name, w_address;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the warehouse is not there';
    END IF;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (c_number, customer_district, customer_warehouse, of_district, home, paid, amount,
                warehouse_name || '    ' || district_name);
    RETURN NEXT;
END $$;

CREATE FUNCTION tpcc_order_status(
    of_warehouse integer, of_district integer, who integer, name text
) RETURNS TABLE (
    c_number integer, c_names text, balance numeric,
    order_number integer, entered timestamp, carrier integer,
    item integer, supplier integer, quantity integer, amount numeric, delivered timestamp
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    c_number := who;
    IF who IS NULL THEN
        c_number := tpcc_customer(of_warehouse, of_district, name);
    END IF;
    SELECT concat_ws(' ', c_first, c_middle, c_last), c_balance INTO c_names, balance
        FROM customer
        WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_id = c_number;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the customer is not there';
    END IF;
    SELECT o_id, o_entry_d, o_carrier_id INTO order_number, entered, carrier FROM orders
        WHERE o_w_id = of_warehouse AND o_d_id = of_district AND o_c_id = c_number
        ORDER BY o_id DESC LIMIT 1;
    IF NOT FOUND THEN
        RETURN NEXT;
        RETURN;
    END IF;
    RETURN QUERY
        SELECT c_number, c_names, balance, order_number, entered, carrier, ol_i_id,
               ol_supply_w_id, ol_quantity::integer, ol_amount, ol_delivery_d
        FROM order_line
        WHERE ol_w_id = of_warehouse AND ol_d_id = of_district AND ol_o_id = order_number
        ORDER BY ol_number;
END $$;

CREATE FUNCTION tpcc_delivery(home integer, by_carrier integer, delivered timestamp)
RETURNS TABLE (district_number integer, order_number integer) LANGUAGE plpgsql AS $$
DECLARE
    districts integer[];
    numbers integer[];
    changed integer;
BEGIN
    SELECT array_agg(d_id::integer ORDER BY d_id), array_agg(oldest ORDER BY d_id)
        INTO districts, numbers
        FROM (SELECT d_id, (SELECT min(no_o_id) FROM new_order
                            WHERE no_w_id = d_w_id AND no_d_id = d_id) AS oldest
              FROM district WHERE d_w_id = home) AS due
        WHERE oldest IS NOT NULL;
    IF districts IS NULL THEN
        RETURN;
    END IF;
    DELETE FROM new_order USING unnest(districts, numbers) AS due (d, o)
        WHERE no_w_id = home AND no_d_id = d AND no_o_id = o;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed <> cardinality(districts) THEN
        -- They were read without a lock.
        RAISE EXCEPTION 'another delivery has taken a new order'
            USING ERRCODE = 'serialization_failure';
    END IF;
    UPDATE orders SET o_carrier_id = by_carrier
        FROM unnest(districts, numbers) AS due (d, o)
        WHERE o_w_id = home AND o_d_id = d AND o_id = o;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed <> cardinality(districts) THEN
        RAISE EXCEPTION 'the orders: % rows changed, not %', changed, cardinality(districts);
    END IF;
    UPDATE order_line SET ol_delivery_d = delivered
        FROM unnest(districts, numbers) AS due (d, o)
        WHERE ol_w_id = home AND ol_d_id = d AND ol_o_id = o;
    UPDATE customer SET c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
        FROM (SELECT d, o_c_id AS buyer, sum(ol_amount) AS total
              FROM unnest(districts, numbers) AS due (d, o)
              JOIN orders ON o_w_id = home AND o_d_id = d AND o_id = o
              JOIN order_line ON ol_w_id = home AND ol_d_id = d AND ol_o_id = o
              GROUP BY d, o_c_id) AS credited
        WHERE c_w_id = home AND c_d_id = d AND c_id = buyer;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed <> cardinality(districts) THEN
        RAISE EXCEPTION 'the customers: % rows changed, not %', changed, cardinality(districts);
    END IF;
    RETURN QUERY SELECT d, o FROM unnest(districts, numbers) AS due (d, o);
END $$;

CREATE FUNCTION tpcc_stock_level(home integer, of_district integer, threshold integer)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    next_order integer;
BEGIN
    SELECT d_next_o_id INTO next_order FROM district WHERE d_w_id = home AND d_id = of_district;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the district is not there';
    END IF;
    RETURN (SELECT count(DISTINCT s_i_id) FROM order_line, stock
            WHERE ol_w_id = home AND ol_d_id = of_district
              AND ol_o_id < next_order AND ol_o_id >= next_order - 20
              AND s_w_id = home AND s_i_id = ol_i_id AND s_quantity < threshold);
END $$;
