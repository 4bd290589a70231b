-- The share of the items of the catalogue that are among the first k of at least one list.
-- views: _exposure.sql
-- n of: catalogue
-- n: true
SELECT slice, avg((times > 0)::INT) AS value
FROM catalogue
GROUP BY slice
